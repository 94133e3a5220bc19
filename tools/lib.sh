# What tools/demo and tools/check share: installing, building, saying what
# goes on. Sourced by bash scripts; sets `root` and `build`.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${STINT_BUILD:-$root/build}
export STINT_MODELS=${STINT_MODELS:-$build/models}
start_seconds=$SECONDS

# say TEXT: a line with the time since the start.
say() {
  local passed=$((SECONDS - start_seconds))
  printf '[%2d:%02d] %s\n' $((passed / 60)) $((passed % 60)) "$*"
}

# run_logged WHAT LOG COMMAND...: runs quietly into LOG, with a sign of life
# every 20 seconds; on failure shows the end of LOG and fails.
run_logged() {
  local what=$1 log=$2
  shift 2
  mkdir -p "$(dirname "$log")"
  say "$what"
  "$@" >"$log" 2>&1 </dev/null &
  local pid=$! waited=0
  while kill -0 "$pid" 2>/dev/null; do
    sleep 1
    waited=$((waited + 1))
    if [ $((waited % 20)) = 0 ]; then
      say "  ... $(tail -c 300 "$log" | tr '\r' '\n' | grep -v '^ *$' | tail -n 1 | cut -c 1-100)"
    fi
  done
  if ! wait "$pid"; then
    tail -n 40 "$log"
    say "FAILED: $what (all of it: $log)"
    return 1
  fi
}

# Installs the packages of packages.txt that are missing. Quiet when none is.
install_packages() {
  local missing=() package command
  while read -r package command; do
    case $package in '' | '#'*) continue ;; esac
    command=${command//[()]/}
    if [ -n "$command" ] && command -v "$command" >/dev/null; then
      continue
    fi
    if [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" != installed ]; then
      missing+=("$package")
    fi
  done <"$root/tools/packages.txt"
  if [ ${#missing[@]} = 0 ]; then
    return 0
  fi
  if ! command -v apt-get >/dev/null; then
    echo "These Debian 12 packages, or what they are called here, are needed: ${missing[*]}" >&2
    return 1
  fi
  local sudo=()
  if [ "$(id -u)" != 0 ]; then
    sudo=(sudo)
  fi
  say "installing ${#missing[@]} packages: ${missing[*]}"
  run_logged "reading the package lists" "$build/logs/apt-update.log" "${sudo[@]}" apt-get update || return 1
  run_logged "apt-get install" "$build/logs/apt-install.log" \
    "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}"
}

# Configures and builds everything with the release preset. Returns instead of
# relying on `set -e`, which is off where the caller tests the result.
build_all() {
  run_logged "musl for AArch64" "$build/logs/sysroot.log" \
    "$root/tools/get-aarch64-sysroot" "${STINT_AARCH64_SYSROOT:-$build/aarch64-sysroot}" || return 1
  export STINT_AARCH64_SYSROOT=${STINT_AARCH64_SYSROOT:-$build/aarch64-sysroot}
  if [ ! -f "$build/build.ninja" ]; then
    run_logged "configuring" "$build/logs/configure.log" \
      cmake -S "$root" -B "$build" --preset release || return 1
  fi
  run_logged "building (ten to fifteen minutes on two cores the first time)" "$build/logs/build.log" \
    cmake --build "$build" || return 1
  grep -hE '^(stint-run|core|runtime).*(bytes|lines)' "$build/logs/build.log" || true
}

fetch_models() {
  run_logged "fetching models into $STINT_MODELS" "$build/logs/fetch.log" "$root/models/fetch" "$@"
}

# Where the build puts things.
stint=$build/bin/stint
stint_run=$build/bin/stint-run
stint_run_aarch64=$build/bin/stint-run-aarch64
