#!/bin/sh
# Tries ./run and ./test where nothing is installed: a Debian of debootstrap's smallest
# kind with only this repository in it; then both again without a network, since what is
# installed needs none. Takes minutes and half a gigabyte, so ./test leaves it out.
#   sh tests/bare-chroot.sh [DIR]     as root; DIR is made, and removed when it went well
# Ends with one line: N passed, N failed, N skipped.
set -u
cd "$(dirname "$0")/.." || exit 1
passed=0 failed=0

finish() {
  echo "$passed passed, $failed failed, 0 skipped"
  [ "$failed" = 0 ]
  exit
}
stop() {
  echo "FAIL $*"
  failed=$((failed + 1))
  finish
}

[ "$(id -u)" = 0 ] || stop "not root"
for program in debootstrap unshare chroot tar; do
  command -v $program >/dev/null || stop "no $program here: apt-get install $program"
done
suite=${SUITE:-bookworm}
# Where this machine gets its own packages, and how.
mirror=$(apt-get indextargets --format '$(SITE) $(RELEASE)' 'Created-By: Packages' |
  awk -v suite="$suite" '$2 == suite { print $1; exit }')
[ -n "$mirror" ] || stop "this machine's apt knows no mirror of $suite"

root=${1:-$(mktemp -d /var/tmp/tidemark-bare.XXXXXX)}
mkdir -p "$root" && chmod 0755 "$root" || stop "cannot make $root" # processes of other users are in it
log=$root.log

clean() {
  umount "$root/proc" "$root/dev/pts" "$root/dev" 2>/dev/null
  [ "$failed" != 0 ] || rm -rf "$root" "$log"
}
trap clean EXIT INT TERM

step() { # name command…
  name=$1
  shift
  start=$(date +%s)
  if "$@" >"$log" 2>&1; then
    passed=$((passed + 1))
    echo "PASS $name ($(($(date +%s) - start)) s): $(tail -n 1 "$log")"
  else
    failed=$((failed + 1))
    tail -n 100 "$log"
    echo "FAIL $name: the whole output is in $log; the system in $root"
    cp "$log" "$log.$failed"
  fi
}
inside() { chroot "$root" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"; }
# A machine without a network has its loopback all the same: SIOCSIFFLAGS, IFF_UP.
offline() {
  unshare -n sh -c 'python3 -c "
import fcntl, socket, struct
fcntl.ioctl(socket.socket(), 0x8914, struct.pack(\"16sh14x\", b\"lo\", 1))" && exec "$@"' - \
    chroot "$root" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"
}

step debootstrap debootstrap --variant=minbase "$suite" "$root" "$mirror"
[ $failed = 0 ] || finish
mount -t proc proc "$root/proc" && mount --bind /dev "$root/dev" && mount --bind /dev/pts "$root/dev/pts" ||
  stop "cannot mount"
# How apt gets out of here (a proxy, a certificate) is this machine's matter, not the test's.
for file in /etc/apt/apt.conf.d/*proxy* /etc/resolv.conf; do
  [ ! -f "$file" ] || cp "$file" "$root$file"
done
mkdir "$root/tidemark"
tar cf - --exclude='./build*' --exclude=./.git . | tar xf - -C "$root/tidemark"

step run inside /tidemark/run
# The commands of the pages that install, as they stand there.
step docs inside sh -c 'cd /tidemark && BUILD=$PWD/build TIDEMARK=$PWD/build/tidemark DOCS_BARE=yes sh tests/cases/docs.sh'
# README's line below its program, which the step above has kept; nothing of that step is left to find.
readme=$(sed -n 's/^As `demo.c`, after `\([^`]*\)` as root: `\([^`]*\)`.*/\1 \&\& \2/p' README.md)
step readme inside sh -c "cd /tidemark && rm -r /usr/local/lib/libtidemark* /usr/local/lib/pkgconfig && ldconfig &&
  cp build/docs/tree/demo.c . && ${readme:-echo README says nothing && false} && [ \"\$(./a.out)\" = 42 ] && echo 42"
step view inside sh -c 'cd /tidemark && ./run view --export /tmp/page.html && grep -q "<html" /tmp/page.html'
step test inside /tidemark/test
step run_offline offline /tidemark/run
step test_offline offline /tidemark/test
step run_offline_anew offline sh -c 'rm -rf /tidemark/build && /tidemark/run'
finish
