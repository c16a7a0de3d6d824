#!/usr/bin/env bash
# Makes a Debian package of inferd, and an archive that runs from any folder.
#
#   deploy/package.sh [--build FOLDER] [--output FOLDER]
#
# Without --build it builds first (into build/package). Environment: INFERD_CACHE as in deploy/run.sh.
set -euo pipefail
here=$PWD
cd "$(dirname "$0")/.."
source deploy/setup.sh

usage() { sed -n '2,6s/^# \{0,1\}//p' deploy/package.sh; }

absolute() { if [[ $1 = /* ]]; then printf '%s\n' "$1"; else printf '%s\n' "$here/$1"; fi; }

build='' output=$here
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) usage; exit 0 ;;
    --build | --output)
      [ $# -gt 1 ] || fail "$1: needs a folder"
      printf -v "${1#--}" '%s' "$(absolute "$2")"
      shift 2
      ;;
    *) fail "$1: unknown, expected --build FOLDER or --output FOLDER" ;;
  esac
done

need_packages deploy/packages.txt deploy/package/packages.txt
mkdir -p "$output" || fail "cannot make the folder $output"
if [ -z "$build" ]; then
  build=$PWD/build/package
  run_quietly "configuring" cmake -C deploy/cmake/release.cmake -G Ninja -S . -B "$build" -DINFERD_TESTS=OFF
  run_quietly "building" ninja -C "$build"
fi
for program in inferd inferd-gateway inferd-worker inferctl inferd-model; do
  [ -x "$build/bin/$program" ] || fail "$build/bin/$program: is not there; --build wants the folder of a complete build"
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
generated=$work/generated
python3 deploy/package/man.py "$build/bin" "$generated/man"
python3 deploy/package/completions.py "$build/bin" "$generated"

# debhelper wants the folder debian in the current one.
tree=$work/inferd
mkdir -p "$tree"
cp -r deploy/package/debian "$tree/debian"
cp deploy/package/copyright "$tree/debian/copyright"
cp deploy/systemd/inferd.sysusers deploy/systemd/inferd.tmpfiles "$tree/debian/"
version=$(dpkg-parsechangelog -l "$tree/debian/changelog" -S Version)
(cd "$tree" && run_quietly "packing" env INFERD_BUILD="$build" INFERD_GENERATED="$generated" INFERD_SOURCE="$OLDPWD" \
  fakeroot debian/rules binary)
mv "$work"/inferd_"$version"_*.deb "$output/"

architecture=$(dpkg --print-architecture)
archive=inferd-$version-$architecture
root=$tree/debian/inferd/usr
mkdir -p "$work/$archive/share"
cp -r "$root/bin" "$work/$archive/bin"
cp -r "$root/share/man" "$work/$archive/share/man"
cp README.md config/inferd.yaml "$work/$archive/"
tar --create --gzip --owner=0 --group=0 --numeric-owner --sort=name --directory "$work" \
  --file "$output/$archive.tar.gz" "$archive"
say "$output/inferd_${version}_$architecture.deb"
say "$output/$archive.tar.gz"
