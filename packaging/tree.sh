#!/bin/bash
# packaging/tree.sh DIR: lays out what is installed below a prefix such as /usr/local, from a release build.
set -euo pipefail
mkdir -p "$1"
tree=$(realpath "$1")
cd "$(dirname "$0")/.."
rm -rf "${tree:?}"/*
share=$tree/share
mkdir -p "$tree"/{bin,lib/caqtus,lib/systemd/system,lib/sysusers.d} "$share"/{man/man1,doc/caqtus/docs} \
  "$share"/bash-completion/completions "$share"/zsh/site-functions "$share"/fish/vendor_completions.d

for program in caqtus caqtus-prover; do
  install -m 755 "target/release/$program" "$tree/bin/"
  strip -R .comment "$tree/bin/$program"
done
# The prover finds its solver from where it is, whatever the prefix. The build's own path goes.
z3=$(patchelf --print-needed "$tree/bin/caqtus-prover" | grep '^libz3')
install -m 644 ".z3/z3/lib/$z3" "$tree/lib/caqtus/"
strip --strip-unneeded -R .comment "$tree/lib/caqtus/$z3"
patchelf --set-rpath "\$ORIGIN/../lib/caqtus" "$tree/bin/caqtus-prover"

for program in caqtus caqtus-prover; do
  run=$tree/bin/$program
  "$run" man "$share/man/man1"
  "$run" completions bash > "$share/bash-completion/completions/$program"
  "$run" completions zsh > "$share/zsh/site-functions/_$program"
  "$run" completions fish > "$share/fish/vendor_completions.d/$program.fish"
done
# What follows the options are tables and examples, whose lines stay as they are.
sed -i 's/^\.SH EXTRA$/.SH NOTES\n.nf/' "$share"/man/man1/*.1

install -m 644 packaging/caqtus.service "$tree/lib/systemd/system/"
install -m 644 packaging/caqtus.sysusers "$tree/lib/sysusers.d/caqtus.conf"
install -m 644 README.md ARCHITECTURE.md LICENSE packaging/caqtus.default "$share/doc/caqtus/"
install -m 644 docs/*.md "$share/doc/caqtus/docs/"
python3 packaging/notices.py > "$share/doc/caqtus/THIRD-PARTY"
