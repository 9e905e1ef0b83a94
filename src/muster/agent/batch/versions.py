"""A script that says which driver, CUDA and cuDNN a node has, one per line, and nothing of what it has not.

Its argument is the Python whose version it says, too, if there is one.
"""

VERSIONS = r"""
echo "node $(uname -n)"
driver=$(nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>/dev/null | head -n 1)
[ -n "$driver" ] && echo "driver $driver"
for home in "$CUDA_HOME" "$CUDA_PATH" /usr/local/cuda; do
  [ -x "$home/bin/nvcc" ] && PATH="$home/bin:$PATH"
done
cuda=$(nvcc --version 2>/dev/null | sed -n 's/.*release \([0-9.]*\).*/\1/p')
[ -n "$cuda" ] && echo "cuda $cuda"
for file in "$CUDNN_HOME/include/cudnn_version.h" /usr/include/cudnn_version.h /usr/include/*/cudnn_version.h \
  /usr/local/cuda/include/cudnn_version.h; do
  [ -r "$file" ] || continue
  echo "cudnn $(sed -n 's/^#define CUDNN_\(MAJOR\|MINOR\|PATCHLEVEL\) *\([0-9]*\).*/\2/p' "$file" | paste -sd .)"
  break
done
[ -n "$1" ] && "$1" -I -S -c 'import sys; print("python", ".".join(map(str, sys.version_info[:3])))' 2>/dev/null
exit 0
"""
