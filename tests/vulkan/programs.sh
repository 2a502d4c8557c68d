# Sourced by the tests of `tidemark vulkan`: real, unmodified programs on Vulkan drivers that need no GPU. $SOURCE is the
# repository, $BUILD the folder of the build.
#
#   lavapipe_icd, swiftshader_icd DIR    print the path of the driver's JSON
#   program_NAME DIR                     writes the script DIR/NAME and prints its path
#   display_start DIR, display_stop      an X server for the programs that have a window
#
# All return 1 and print the reason when something is missing. Each script executes its program, so that a signal to the
# script reaches it, and writes the result to stdout; the exit status is the program's. Measured on Debian 12:
#
#   NAME               driver        stdout                              same bytes in
#   ffmpeg_blur        lavapipe      the MD5 of 30 frames                20 of 20 runs
#   ffmpeg_overlay     lavapipe      the MD5 of 30 frames, two inputs    20 of 20
#   ffmpeg_placebo     lavapipe      the MD5 of 30 frames                20 of 20
#   mpv_gpu, mpv_next  lavapipe, X   the last of 10 frames as rendered   20 of 20
#   vkcube             lavapipe, X   nothing                             20 of 20
#   dawn               SwiftShader   1024 words, which are computed      20 of 20

# ---- drivers ----

# The name of a driver's JSON has the architecture in Debian, not elsewhere.
lavapipe_icd() {
  for lavapipe_json in /usr/share/vulkan/icd.d/lvp_icd*.json /usr/local/share/vulkan/icd.d/lvp_icd*.json \
    /etc/vulkan/icd.d/lvp_icd*.json; do
    [ -f "$lavapipe_json" ] && { echo "$lavapipe_json"; return 0; }
  done
  echo "there is no lavapipe (mesa-vulkan-drivers)"
  return 1
}

# Chromium's library; where Chromium is not installed, out of Debian's package, which DIR keeps.
swiftshader_library() {
  for swiftshader_so in /usr/lib/chromium/libvk_swiftshader.so /usr/lib64/chromium-browser/libvk_swiftshader.so \
    /opt/google/chrome/libvk_swiftshader.so "$1/libvk_swiftshader.so"; do
    [ -f "$swiftshader_so" ] && { echo "$swiftshader_so"; return 0; }
  done
  command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || return 1
  (
    cd "$1" && rm -rf package && mkdir package &&
      timeout 300 apt-get download chromium-common && dpkg-deb -x chromium-common_*.deb package &&
      mv package/usr/lib/chromium/libvk_swiftshader.so .
  ) >"$1/download.log" 2>&1 && echo "$1/libvk_swiftshader.so"
  swiftshader_status=$?
  rm -rf "$1/package" "$1"/chromium-common_*.deb
  return $swiftshader_status
}

swiftshader_icd() {
  mkdir -p "$1"
  swiftshader_so=$(swiftshader_library "$1") || { echo "there is no SwiftShader (chromium-common)"; return 1; }
  # Chromium's own JSON claims Vulkan 1.0.
  printf '{"file_format_version": "1.0.0", "ICD": {"library_path": "%s", "api_version": "1.3.0"}}\n' \
    "$swiftshader_so" >"$1/swiftshader_icd.json"
  echo "$1/swiftshader_icd.json"
}

# Prints why the example NAME cannot run here; fails if it can.
program_lacks() {
  case $1 in *_vulkan) ;; *) return 1 ;; esac
  if [ "${TEST_KIND-plain}" != plain ]; then
    echo "a Vulkan driver under a sanitizer"
    return
  fi
  printf 'device gpu vulkan\nqueue q on gpu\nq: nop\n' >lacks.tide
  ! "$TIDEMARK" run lacks.tide 2>&1 >/dev/null | grep -E "there is no Vulkan|no Vulkan driver" || return 0
  return 1
}

# ---- scripts ----

# A word that sh reads as TEXT: "$(quoted TEXT)".
quoted() { printf "'%s'" "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")"; }

# write_program DIR NAME ICD WORDS: only this driver, with no cache or configuration of the user's.
write_program() {
  write_to=$1/$2
  mkdir -p "$1"
  {
    echo '#!/bin/sh'
    echo "export VK_ICD_FILENAMES=$(quoted "$3") VK_DRIVER_FILES=$(quoted "$3")"
    echo "export MESA_SHADER_CACHE_DISABLE=true XDG_RUNTIME_DIR=\${XDG_RUNTIME_DIR:-$(quoted "$1")}"
    printf exec
    shift 3
    for write_word; do printf ' %s' "$(quoted "$write_word")"; done
    echo
  } >"$write_to"
  chmod +x "$write_to"
  echo "$write_to"
}

# ---- ffmpeg ----

# write_ffmpeg DIR NAME FILTERS INPUT...: the MD5 of all frames.
write_ffmpeg() {
  ffmpeg_dir=$1 ffmpeg_name=$2 ffmpeg_filters=$3
  shift 3
  command -v ffmpeg >/dev/null || { echo "there is no ffmpeg"; return 1; }
  ffmpeg_icd=$(lavapipe_icd) || { echo "$ffmpeg_icd"; return 1; }
  for ffmpeg_filter in $(printf '%s' "$ffmpeg_filters" | tr -c 'a-z0-9_' ' '); do
    case $ffmpeg_filter in
      *_vulkan | libplacebo)
        ffmpeg -hide_banner -filters 2>/dev/null | grep -q " $ffmpeg_filter " ||
          { echo "this ffmpeg has no filter $ffmpeg_filter"; return 1; }
        ;;
    esac
  done
  ffmpeg_inputs=$#
  while [ "$ffmpeg_inputs" -gt 0 ]; do
    ffmpeg_input=$1
    shift
    set -- "$@" -f lavfi -i "$ffmpeg_input"
    ffmpeg_inputs=$((ffmpeg_inputs - 1))
  done
  write_program "$ffmpeg_dir" "$ffmpeg_name" "$ffmpeg_icd" ffmpeg -hide_banner -nostdin -loglevel error \
    -init_hw_device vulkan=v:0 -filter_hw_device v "$@" -filter_complex "$ffmpeg_filters" -f md5 -
}

program_ffmpeg_blur() {
  write_ffmpeg "$1" ffmpeg_blur \
    'format=yuv420p,hwupload,avgblur_vulkan,vflip_vulkan,hwdownload,format=yuv420p' \
    testsrc2=size=160x96:rate=30:duration=1
}

# Avoided, because ffmpeg 5.1 reads texels there that it has not written: overlay_vulkan and blend_vulkan of yuv420p (other
# bytes in each run on any driver), transpose_vulkan (its first row; on lavapipe only `explore`, which fills memory, shows it).
program_ffmpeg_overlay() {
  write_ffmpeg "$1" ffmpeg_overlay \
    '[0]format=rgba,hwupload,gblur_vulkan=size=5[a];[1]format=rgba,hwupload,hflip_vulkan[b];[a][b]overlay_vulkan=x=16:y=16,flip_vulkan,hwdownload,format=rgba' \
    testsrc2=size=160x96:rate=30:duration=1 testsrc=size=64x48:rate=30:duration=1
}

program_ffmpeg_placebo() {
  write_ffmpeg "$1" ffmpeg_placebo \
    'format=yuv420p,hwupload,libplacebo=w=96:h=64:format=yuv420p,hwdownload,format=yuv420p' \
    testsrc2=size=160x96:rate=30:duration=1
}

# ---- programs with a window ----

# Sets DISPLAY to an X server of our own; $display_process is its process.
display_start() {
  command -v Xvfb >/dev/null || { echo "there is no Xvfb (xvfb)"; return 1; }
  mkdir -p "$1"
  rm -f "$1/display"
  # -noreset: between two programs the server would start anew, and refuse the next one.
  Xvfb -displayfd 3 -screen 0 320x240x24 -nolisten tcp -noreset 3>"$1/display" >"$1/xvfb.log" 2>&1 </dev/null &
  display_process=$!
  display_tries=0
  until [ -s "$1/display" ]; do
    display_tries=$((display_tries + 1))
    if [ $display_tries = 100 ] || ! kill -0 "$display_process" 2>/dev/null; then
      display_stop
      echo "Xvfb does not start: $(tail -n 1 "$1/xvfb.log")"
      return 1
    fi
    sleep 0.1
  done
  DISPLAY=:$(cat "$1/display")
  export DISPLAY
}

display_stop() {
  [ -n "${display_process-}" ] || return 0
  kill "$display_process" 2>/dev/null
  wait "$display_process" 2>/dev/null
  display_process=
}

# write_mpv DIR NAME VO
write_mpv() {
  command -v mpv >/dev/null || { echo "there is no mpv"; return 1; }
  mpv_icd=$(lavapipe_icd) || { echo "$mpv_icd"; return 1; }
  mpv --no-config --gpu-context=help 2>/dev/null | grep -q x11vk || { echo "this mpv has no x11vk"; return 1; }
  mpv --no-config --script="$1/none.lua" --version 2>/dev/null | grep -q mpv || { echo "this mpv has no scripts"; return 1; }
  # mpv takes a driver on the CPU only if it is named.
  mpv_device=$(VK_ICD_FILENAMES=$mpv_icd VK_DRIVER_FILES=$mpv_icd mpv --no-config --vulkan-device=help 2>/dev/null |
    sed -n "s/^ *'\(.*\)' (GPU 0.*/\1/p")
  [ -n "$mpv_device" ] || { echo "mpv finds no Vulkan device"; return 1; }
  mkdir -p "$1"
  cat >"$1/last_frame.lua" <<'END'
-- Prints the last frame as the video output renders it, and quits.
mp.observe_property("eof-reached", "bool", function(_, is_over)
  if not is_over then return end
  local image = mp.command_native({"screenshot-raw", "window"})
  if not image then return mp.commandv("quit", "5") end
  io.stdout:write(image.format, " ", image.w, " ", image.h, " ", image.stride, "\n", image.data)
  mp.commandv("quit", "0")
end)
END
  write_program "$1" "$2" "$mpv_icd" mpv --no-config --no-terminal --no-ytdl --load-scripts=no --audio=no \
    --vo="$3" --gpu-api=vulkan --gpu-context=x11vk --vulkan-device="$mpv_device" --untimed --framedrop=no \
    --keep-open=always --stop-screensaver=no --osc=no --osd-level=0 --no-input-default-bindings \
    --script="$1/last_frame.lua" av://lavfi:testsrc2=size=160x96:rate=10:duration=1
}

program_mpv_gpu() { write_mpv "$1" mpv_gpu gpu; }
program_mpv_next() { write_mpv "$1" mpv_next gpu-next; }

program_vkcube() {
  command -v vkcube >/dev/null || { echo "there is no vkcube (vulkan-tools)"; return 1; }
  vkcube_icd=$(lavapipe_icd) || { echo "$vkcube_icd"; return 1; }
  write_program "$1" vkcube "$vkcube_icd" vkcube --c 30
}

# ---- Dawn ----

# On SwiftShader: lavapipe of Mesa 22 lacks shaderSampledImageArrayDynamicIndexing, without which Dawn takes no device.
program_dawn() {
  (
    lacking() { echo "$1"; exit 1; }
    . "$SOURCE/tests/vulkan/prepare"
    dawn_icd=$(swiftshader_icd "$modules/swiftshader") || lacking "$dawn_icd"
    write_program "$1" dawn "$dawn_icd" node "$modules/webgpu_compute.mjs"
  )
}
