#!/bin/bash
# packaging/archives.sh DIR: makes an archive and a Debian package of DIR/tree, which tree.sh made.
set -euo pipefail
dist=$(realpath "$1")
cd "$(dirname "$0")/.."
version=$(cargo pkgid --locked | sed 's/.*[#@]//')
architecture=$(dpkg --print-architecture)
# The same sources give the same files.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
export SOURCE_DATE_EPOCH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rm -f "$dist"/caqtus*.tar.gz "$dist"/caqtus*.deb "$dist/SHA256SUMS"

name=caqtus-$version-linux-$architecture
tar -C "$dist" --transform "s,^tree,$name," --sort=name --owner=0 --group=0 --numeric-owner --mode=go-w \
  --mtime="@$SOURCE_DATE_EPOCH" -cf - tree | gzip -9n > "$dist/$name.tar.gz"

root=$work/debian/caqtus
mkdir -p "$root"/{DEBIAN,etc/default}
cp -a "$dist/tree" "$root/usr"
doc=$root/usr/share/doc/caqtus
mv "$doc/caqtus.default" "$root/etc/default/caqtus"
# Where Debian's zsh looks, and where Debian has the licence itself.
mkdir "$root/usr/share/zsh/vendor-completions"
mv "$root"/usr/share/zsh/site-functions/* "$root/usr/share/zsh/vendor-completions/"
rmdir "$root/usr/share/zsh/site-functions"
rm "$doc/LICENSE"
install -m 644 packaging/debian/copyright "$doc/"
date=$(LC_ALL=C date -u -R -d "@$SOURCE_DATE_EPOCH")
maintainer='The Caqtus developers <caqtus@example.invalid>'
printf 'caqtus (%s) unstable; urgency=medium\n\n  * Built from the sources of this version.\n\n -- %s  %s\n' \
  "$version" "$maintainer" "$date" > "$doc/changelog"
gzip -9n "$doc"/{changelog,THIRD-PARTY} "$root"/usr/share/man/man1/*.1

# What the programs are linked with decides what they need.
mkdir -p "$work/debian"
printf 'Source: caqtus\nMaintainer: %s\n\nPackage: caqtus\nArchitecture: any\n' "$maintainer" > "$work/debian/control"
depends=$(cd "$work" && dpkg-shlibdeps -O --ignore-missing-info -ldebian/caqtus/usr/lib/caqtus \
  debian/caqtus/usr/bin/* debian/caqtus/usr/lib/caqtus/* | sed 's/^shlibs:Depends=//')
size=$(du -sk --apparent-size "$root" | cut -f1)
sed -e "s/@VERSION@/$version/" -e "s/@ARCHITECTURE@/$architecture/" -e "s/@SIZE@/$size/" -e "s/@DEPENDS@/$depends/" \
  -e "s/@MAINTAINER@/$maintainer/" packaging/debian/control > "$root/DEBIAN/control"
echo /etc/default/caqtus > "$root/DEBIAN/conffiles"
install -m 755 packaging/debian/{postinst,prerm,postrm} "$root/DEBIAN/"
(cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum) > "$root/DEBIAN/md5sums"
find "$root" -type d -exec chmod 755 {} +
find "$root" -newermt "@$SOURCE_DATE_EPOCH" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
dpkg-deb --root-owner-group -Zxz --build "$root" "$dist/caqtus_${version}_$architecture.deb"
(cd "$dist" && sha256sum "$name.tar.gz" "caqtus_${version}_$architecture.deb" > SHA256SUMS)
ls -l "$dist/$name.tar.gz" "$dist/caqtus_${version}_$architecture.deb"
