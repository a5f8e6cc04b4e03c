#!/bin/sh
# Fetches NVIDIA's PTX assembler, alone, into a cache folder, and prints its path. Where it comes from is
# what the machine's own pip or apt is configured with. Does nothing if it is there already.
#
#   tools/fetch-ptxas.sh [DIR]      default: ${XDG_CACHE_HOME:-$HOME/.cache}/ptoc/ptxas
set -eu

dir=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/ptoc/ptxas}
if [ -x "$dir/ptxas" ]; then
    echo "$dir/ptxas"
    exit 0
fi
mkdir -p "$dir"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# A wheel is a zip file; Python is there where pip is.
from_pip() {
    # The version first that the table of register counts was made with.
    for wheel in "nvidia-cuda-nvcc-cu12==12.9.86" nvidia-cuda-nvcc-cu12; do
        python=python3
        command -v "$python" >/dev/null 2>&1 || return 1
        timeout 300 "$python" -m pip download --quiet --no-deps --dest "$tmp" "$wheel" >&2 || continue
        "$python" - "$tmp" <<'PY' || continue
import glob, shutil, sys, zipfile
wheel = zipfile.ZipFile(glob.glob(sys.argv[1] + "/*.whl")[0])
name = next(n for n in wheel.namelist() if n.endswith("/bin/ptxas"))
with wheel.open(name) as src, open(sys.argv[1] + "/ptxas", "wb") as dst:
    shutil.copyfileobj(src, dst)
PY
        return 0
    done
    return 1
}

# Debian's package is in non-free: of what it needs, nothing is installed.
from_apt() {
    command -v apt-get >/dev/null 2>&1 && command -v dpkg >/dev/null 2>&1 || return 1
    (cd "$tmp" && apt-get download nvidia-cuda-toolkit >&2) || return 1
    dpkg -x "$tmp"/nvidia-cuda-toolkit_*.deb "$tmp/deb" || return 1
    cp "$tmp/deb/usr/bin/ptxas" "$tmp/ptxas" 2>/dev/null || cp "$tmp/deb/usr/lib/nvidia-cuda-toolkit/bin/ptxas" "$tmp/ptxas"
}

if ! from_pip && ! from_apt; then
    echo "fetch-ptxas: neither pip (nvidia-cuda-nvcc-cu12) nor apt (nvidia-cuda-toolkit, non-free) could deliver it" >&2
    exit 1
fi
chmod +x "$tmp/ptxas"
"$tmp/ptxas" --version >/dev/null
mv "$tmp/ptxas" "$dir/ptxas"
echo "$dir/ptxas"
