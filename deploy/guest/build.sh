#!/bin/sh
# Builds the guest of the engines `qemu` and `firecracker` from Debian packages: `sh build.sh FOLDER` makes
#   FOLDER/kernel     Debian's cloud kernel, unpacked: both start it
#   FOLDER/guest.img  an initramfs with CPython, the kernel's modules for virtio, and the agent (`init` beside this file)
# It needs: apt install mmdebstrap cpio lz4 zstd
set -eu
release=bookworm
folder=$(mkdir -p "${1:?Name the folder for kernel and image.}" && cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
for program in mmdebstrap cpio lz4 zstd; do
  command -v $program >/dev/null || { echo "\`$program\` is missing: apt install mmdebstrap cpio lz4 zstd" >&2; exit 1; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mmdebstrap --quiet --variant=extract --include=python3.11,linux-image-cloud-amd64 $release "$work/root.tar"
mkdir "$work/debian" "$work/guest"
tar -x -C "$work/debian" -f "$work/root.tar" --exclude='./dev/*'

# The packed kernel begins with the mark of LZ4; what follows it is no LZ4, so that lz4 ends with an error.
packed=$(ls "$work"/debian/boot/vmlinuz-*)
at=$(LC_ALL=C grep -abo "$(printf '\002\041\114\030')" "$packed" | head -n 1 | cut -d : -f 1)
tail -c +$((at + 1)) "$packed" | lz4 -d -q -f - "$folder/kernel" 2>/dev/null || true
[ "$(head -c 4 "$folder/kernel" | tail -c 3)" = ELF ] || { echo "The kernel in $packed is not packed with LZ4." >&2; exit 1; }

cd "$work/guest"
mkdir -p dev proc sys tmp workspace modules usr/bin usr/lib lib lib64
for name in virtio virtio_ring virtio_pci_modern_dev virtio_pci_legacy_dev virtio_pci virtio_mmio virtio_console \
  vsock vmw_vsock_virtio_transport_common vmw_vsock_virtio_transport; do
  cp "$(find "$work/debian/lib/modules" -name "$name.ko")" modules/
done
cp "$here/init" init
chmod 755 init
cp -a "$work/debian/usr/bin/python3.11" usr/bin/
ln -s python3.11 usr/bin/python3
cp -a "$work/debian/usr/lib/python3.11" "$work/debian/usr/lib/x86_64-linux-gnu" usr/lib/
cp -a "$work/debian/lib/x86_64-linux-gnu" lib/
cp -a "$work/debian/lib64/." lib64/
rm -rf usr/lib/python3.11/test usr/lib/python3.11/idlelib usr/lib/python3.11/lib2to3 usr/lib/x86_64-linux-gnu/gconv
rm -rf usr/lib/x86_64-linux-gnu/libkrb5* usr/lib/x86_64-linux-gnu/libk5crypto* usr/lib/x86_64-linux-gnu/engines-3
find . | cpio --quiet -o -H newc -R 0:0 | zstd -q -10 -f -o "$folder/guest.img"
ls -l "$folder"
