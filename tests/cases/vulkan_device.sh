# The Vulkan device on each driver that is there, as it is and under the validation layers: its tests, and a
# program with its blur on it. Without this, they run on whichever driver the loader finds first.
: "${BUILD:?}" "${TIDEMARK:?}"
BUILD=$(cd "$BUILD" && pwd)
export SOURCE="$PWD"
. tests/vulkan/programs.sh
work=$BUILD/vulkan_device
rm -rf "$work"
mkdir -p "$work"
cd "$work" || exit 1
export XDG_RUNTIME_DIR="${XDG_RUNTIME_DIR:-$work}"
pass() { echo "PASS $1"; }
fail() { echo "FAIL $1: $2"; }

# Runs a test program. A case that it skips is told by itself.
run_tests() { # NAME PROGRAM CASE…
  name=$1
  shift
  if ! timeout 300 "$@" >said 2>&1; then fail "$name" "$(grep -v ^PASS said | head -c 1000)"
  elif grep -v -e ^PASS -e ^SKIP said >more; then fail "$name" "$(head -c 1000 more)"
  elif grep -q ^PASS said; then pass "$name"; fi
  sed -n "s/^SKIP /SKIP ${name}_/p" said
}

run_all() { # DRIVER
  for part in open memory kernel bodies semaphores shared; do
    run_tests "$1_$part" "$BUILD/unit-vulkan_$part"
  done
  # shellcheck disable=SC2046
  run_tests "$1_conformance" "$BUILD/conformance-device" $("$BUILD/conformance-device" --list | grep '^vulkan')
}

# Do the validation layers find a mistake that is there?
finds() { # KIND WORD
  timeout 60 "$BUILD/vulkan-small" "$1" >said 2>&1
  grep -aq "$2" said
}

# The pictures and digests of satellite.tide, which another path made.
run_satellite() { # DRIVER
  set -- "$1" --set width=1000 --set height=700 --check
  driver=$1
  shift
  for mode in '' '--keep host' '--baseline events --repeat 1' '--memory 2M'; do
    # shellcheck disable=SC2086
    if ! timeout 300 "$TIDEMARK" run "$SOURCE/examples/satellite_vulkan.tide" "$@" $mode --output gpu >said 2>&1; then
      fail "${driver}_satellite" "$mode: $(tail -n 3 said)"
      return
    fi
    for file in blurred.raw preview.png digests.bin; do
      cmp "cpu/out/satellite/$file" "gpu/out/satellite_vulkan/$file" >diff 2>&1 && continue
      fail "${driver}_satellite" "$mode: $(cat diff)"
      return
    done
  done
  pass "${driver}_satellite"
}

# ring.tide on the virtual VkQueues of Tidemark's layer, which changes all orders that nothing forbids. None of the
# native waits can go: dropping those that are known, implied, the queue's own or seen by the host drops nothing,
# and dropping the others is noticed.
cat >ring <<'END'
#!/bin/sh
case ${VK_INSTANCE_LAYERS-} in *TIDEMARK*) vkqueues=$VKQUEUES ;; *) vkqueues=1 ;; esac
exec "$TIDEMARK" run "$SOURCE/tests/vulkan/ring.tide" --check --paused --quiet-time --set vkqueues=$vkqueues
END
chmod +x ring
explore() { timeout 600 "$TIDEMARK" vulkan explore --queues "$VKQUEUES" --in-queue --no-shrink "$@" -- ./ring >said 2>&1; }
run_ring() { # DRIVER
  for VKQUEUES in 2 4; do
    export VKQUEUES
    if ! explore --seeds 3; then fail "$1_virtual_$VKQUEUES" "$(tail -n 9 said)"
    elif ! explore --seeds 1 --drop own,known,sibling,seen || grep -q 'waits dropped' said; then
      fail "$1_virtual_$VKQUEUES" "some wait could go: $(tail -n 9 said)"
    elif explore --seeds 3 --drop needed; then
      fail "$1_virtual_$VKQUEUES" "nothing is noticed without the waits: $(tail -n 9 said)"
    else pass "$1_virtual_$VKQUEUES"; fi
  done
}

if ! "$TIDEMARK" run "$SOURCE/examples/satellite.tide" --set width=1000 --set height=700 --output cpu >said 2>&1; then
  fail satellite "$(tail -n 3 said)"
  exit 0
fi
layer=$(ls /usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json 2>/dev/null)
for driver in lavapipe swiftshader; do
  if ! icd=$("${driver}_icd" "$work/$driver"); then
    echo "SKIP $driver: $icd"
    continue
  fi
  export VK_ICD_FILENAMES="$icd"
  run_all "$driver"
  run_satellite "$driver"
  run_ring "$driver"
  if [ -z "$layer" ]; then
    echo "SKIP ${driver}_validated: there are no validation layers (vulkan-validationlayers)"
    continue
  fi
  export VK_INSTANCE_LAYERS=VK_LAYER_KHRONOS_validation
  if finds early-destroy VUID; then run_all "${driver}_validated"
  else fail "${driver}_validated" "the validation layers do not find a planted mistake"; fi
  export VK_LAYER_ENABLES=VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT
  if finds forgotten-wait SYNC-HAZARD; then run_all "${driver}_synchronization"
  else echo "SKIP ${driver}_synchronization: this version does not find a planted missing wait"; fi
  unset VK_INSTANCE_LAYERS VK_LAYER_ENABLES
done

# What is wrong is told with its place.
program() { printf '%s\n' "$@" >wrong.tide; }
says() { # NAME TEXT
  if "$TIDEMARK" run wrong.tide >said 2>&1; then fail "$1" "it succeeds"
  elif grep -qF "$2" said; then pass "$1"
  else fail "$1" "$(cat said)"; fi
}
program 'device gpu vulkan name "no such GPU"' 'queue q on gpu' 'q: nop'
says unknown_device "wrong.tide:1:1: device 'gpu' (vulkan): no Vulkan device's name contains 'no such GPU'"
program 'device gpu vulkan name 7' 'queue q on gpu' 'q: nop'
says name_is_no_text "wrong.tide:1:19: device 'gpu' (vulkan): option 'name' takes a text"
program 'device gpu vulkan ahead 2000' 'queue q on gpu' 'q: nop'
says too_far_ahead "option 'ahead' is 2000; expected 1 to 1024"
program 'device gpu vulkan workers 2' 'queue q on gpu' 'q: nop'
says unknown_option "a vulkan device has no option 'workers'; expected name, ahead or queues"
program 'device gpu vulkan' 'buffer b 8' 'queue q on gpu' 'q: iota b'
says unknown_body "wrong.tide:4:1: device 'gpu' cannot do 'iota'"
program 'device one vulkan' 'device two vulkan' 'queue q on one' 'q: nop'
says two_devices "wrong.tide:2:1: device 'two' (vulkan): another device's memory holds the buffers already"
export VK_ICD_FILENAMES=/dev/null VK_DRIVER_FILES=/dev/null
program 'device gpu vulkan' 'queue q on gpu' 'q: nop'
says no_driver "wrong.tide:1:1: device 'gpu' (vulkan): there is no Vulkan"
