#!/bin/sh
# Installs ctxbridge for the current user: built from this checkout, or, where there is none, taken from a release.
# POSIX sh and coreutils; a release also needs curl or GNU wget, unless it lies in a folder.
set -eu

# Where releases are: the address of a folder that holds SHA256SUMS and what it names (docs/installing.md).
# Empty: nothing is published yet.
RELEASES=''

usage() {
  cat <<'USAGE'
Usage: sh install.sh [options]

  --prefix DIR     install DIR/bin/ctxbridge (default: ~/.local)
  --no-hooks       do not register the hooks in Claude Code's settings
  --import         archive the transcripts that are there, in the background
  --no-import      leave them alone; without either, a terminal is asked
  --model          download the model for search by meaning, unless the program has it (24 MB, Hugging Face)
  --no-model       do not; without either, a terminal is asked
  --demo           show the whole demo at the end
  --no-demo        do not try a session after building from a checkout
  --from URL|DIR   take a release from there, also in a checkout (default: $CTXBRIDGE_RELEASES)
  --version V      this release, not the newest
  --platform NAME  the binary for this system, as linux-x64-baseline
  --deps-only      only fetch what building and testing need, into node_modules
  --help           show this text

In a checkout it builds, which needs Node 20 or newer with npm; elsewhere it takes a release and checks its SHA-256.
Nothing needs root, and no shell start file is touched. Run it again to upgrade, or to go on after an interruption.
Undo: ctxbridge uninstall; with --purge, the archive and the program go, too.
USAGE
}

say() { printf '%s\n' "$*"; }

# fail MESSAGE [HINT [EXIT]]
fail() {
  printf 'install.sh: %s\n' "$1" >&2
  if [ -n "${2:-}" ]; then printf 'hint: %s\n' "$2" >&2; fi
  exit "${3:-1}"
}

has() { command -v "$1" >/dev/null 2>&1; }

# needs VALUE OPTION WHAT: probably a variable that was never set, so the default would be wrong.
needs() { [ -n "$1" ] || fail "$2 needs $3" "sh install.sh --help" 64; }

read_options() {
  prefix=
  hooks=1
  import=
  model=
  demo=
  deps_only=0
  from=
  wanted=
  platform=
  while [ $# -gt 0 ]; do
    case $1 in
      --prefix | --from | --version | --platform)
        option=$1
        value=${2:-}
        [ $# -lt 2 ] || shift
        ;;
      --prefix=* | --from=* | --version=* | --platform=*)
        option=${1%%=*}
        value=${1#*=}
        ;;
      *) option=$1 ;;
    esac
    case $option in
      --prefix)
        needs "$value" --prefix "a folder"
        prefix=$value
        ;;
      --from)
        needs "$value" --from "an address or a folder"
        from=$value
        ;;
      --version)
        needs "$value" --version "a version"
        wanted=${value#v}
        ;;
      --platform)
        needs "$value" --platform "a name"
        platform=$value
        ;;
      --no-hooks) hooks=0 ;;
      --import | --no-import) import=$1 ;;
      --model | --no-model) model=$1 ;;
      --demo) demo=1 ;;
      --no-demo) demo=0 ;;
      --deps-only) deps_only=1 ;;
      -h | --help)
        usage
        exit 0
        ;;
      *) fail "unknown option: $1" "sh install.sh --help" 64 ;;
    esac
    shift
  done

  if [ -z "$prefix" ]; then
    [ "$deps_only" = 1 ] || [ -n "${HOME:-}" ] || fail "HOME is not set" "say where to install with --prefix DIR"
    prefix=${HOME:-}/.local
  fi
  case $prefix in
    /*) ;;
    # Not every shell expands this in --prefix=~/dir.
    "~" | "~/"*) prefix=${HOME:-}${prefix#"~"} ;;
    *) prefix=$(pwd)/$prefix ;;
  esac
  bindir=${prefix%/}/bin
  target=$bindir/ctxbridge
}

# Where this script is, if it is a file: `curl … | sh` has none.
find_script() {
  here=
  case $0 in
    install.sh | */install.sh) [ ! -f "$0" ] || here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P) ;;
  esac
}

in_checkout() { [ -n "$here" ] && [ -f "$here/package.json" ] && [ -f "$here/bun.lock" ]; }

log=
staged=
sums=
part=
moving=0

clean_up() {
  # A second signal, or one that comes only now, would end `rm` as well.
  trap '' INT TERM HUP
  rm -f -- ${log:+"$log"} ${staged:+"$staged"} ${sums:+"$sums"}
}

# interrupted EXIT: says how things stand; what was fetched stays for the next try.
interrupted() {
  trap '' INT TERM HUP
  # A signal may come between the renaming and the next command.
  if [ "$moving" = 1 ] && [ ! -e "$staged" ]; then
    printf 'install.sh: interrupted; %s is installed. To go on: %s install\n' "$target" "$target" >&2
  elif [ -e "$target" ]; then
    printf 'install.sh: interrupted; %s is the former one\n' "$target" >&2
  else
    printf 'install.sh: interrupted; nothing is installed\n' >&2
  fi
  # An EXIT trap that was interrupted is not run again.
  clean_up
  exit "$1"
}

# quietly MESSAGE COMMAND...: shows the command's output only if it fails.
quietly() {
  what=$1
  shift
  log=$(mktemp "${TMPDIR:-/tmp}/ctxbridge-install.XXXXXX")
  status=0
  "$@" >"$log" 2>&1 || status=$?
  if [ "$status" != 0 ]; then
    # A command that was not killed by a signal has left nothing half-written.
    [ "$status" -gt 128 ] || rm -f -- ${unfinished:+"$unfinished"}
    cat -- "$log" >&2
    fail "$what failed" "the lines above say why"
  fi
  rm -f -- "$log"
  log=
}

need_node() {
  for tool in node npm npx; do
    command -v "$tool" >/dev/null 2>&1 || fail "$tool is missing" "install Node 20 or newer: https://nodejs.org"
  done
  major=$(node -p 'process.versions.node.split(".")[0]')
  [ "$major" -ge 20 ] || fail "Node $major is too old" "install Node 20 or newer: https://nodejs.org"
}

# Gets Bun in the version named in package.json, and the packages in bun.lock.
get_deps() {
  bun=node_modules/.bin/bun
  stamp=node_modules/.ctxbridge-lock
  unfinished=node_modules/.ctxbridge-unfinished
  interrupted=
  if [ -e "$unfinished" ]; then
    # A run was killed while writing packages. A half-written one would count as installed and never be repaired.
    interrupted=1
    rm -rf node_modules || fail "cannot remove $here/node_modules" "remove it, and run this again"
  fi
  wanted=$(sed -n 's/.*"packageManager": *"bun@\([^"+]*\).*/\1/p' package.json)
  [ -n "$wanted" ] || fail "package.json names no Bun version" "is this a whole checkout?"
  found=$("$bun" --version 2>/dev/null) || found=
  if [ "$found" = "$wanted" ] && cmp -s bun.lock "$stamp"; then return; fi
  need_node
  mkdir -p node_modules
  : >"$unfinished"
  if [ "$found" = "$wanted" ]; then
    say "Getting packages"
    quietly "getting packages" "$bun" install --frozen-lockfile
  else
    say "Getting Bun $wanted and packages"
    # npx's cache may be half-written in the same way, so after an interruption it gets a fresh one.
    quietly "getting Bun" env npm_config_loglevel=error npm_config_update_notifier=false npm_config_fund=false \
      ${interrupted:+npm_config_cache="$here/node_modules/.ctxbridge-npm"} \
      npx --yes "bun@$wanted" install --frozen-lockfile
    rm -rf node_modules/.ctxbridge-npm
    [ "$("$bun" --version 2>/dev/null || true)" = "$wanted" ] ||
      fail "Bun $wanted does not run here" "try $here/$bun --version"
  fi
  cp bun.lock "$stamp"
  rm -f "$unfinished"
}

from_checkout() {
  cd -- "$here"
  # Nothing of a build stays outside the checkout: neither packages nor what Bun makes of the scripts.
  export BUN_INSTALL_CACHE_DIR="$here/node_modules/.cache/bun"
  export BUN_RUNTIME_TRANSPILER_CACHE_PATH="$here/node_modules/.cache/transpiled"
  get_deps
  [ "$deps_only" = 0 ] || exit 0
  need_node
  # Bun first writes the binary under such a name. A killed build leaves it behind, 130 MB each time.
  rm -f .*.bun-build
  say "Building"
  quietly "the build" npm run -s build
  [ -x dist/ctxbridge ] || fail "the build made no dist/ctxbridge"
  # Or what is installed would have them, and whatever it starts.
  unset BUN_INSTALL_CACHE_DIR BUN_RUNTIME_TRANSPILER_CACHE_PATH
  make_bindir
  cp -- dist/ctxbridge "$staged" || fail "cannot write to $bindir" "choose another place with --prefix DIR"
}

# Makes the folder, and removes there what killed installs left, but not the file of one that is still running.
make_bindir() {
  mkdir -p -- "$bindir" || fail "cannot make $bindir" "choose another place with --prefix DIR"
  [ ! -d "$target" ] || fail "$target is a folder" "choose another place with --prefix DIR"
  for left in "$bindir"/.ctxbridge.*.tmp "$bindir"/.ctxbridge.*.sums "$bindir"/.ctxbridge.*.log "$bindir"/.ctxbridge.*.kept; do
    pid=${left#"$bindir"/.ctxbridge.}
    is_running "${pid%.*}" || rm -f -- "$left"
  done
  # Copy and rename: a running ctxbridge keeps its file, and nobody ever sees an incomplete one.
  staged=$bindir/.ctxbridge.$$.tmp
}

# is_running PID: also true for what is no process id, so that such a name is left alone.
is_running() {
  case $1 in '' | *[!0-9]*) return 0 ;; esac
  kill -0 "$1" 2>/dev/null
}

# The name of this system among those in build/release/targets.ts.
find_platform() {
  [ -z "$platform" ] || return 0
  system=$(uname -s)
  machine=$(uname -m)
  case $machine in
    x86_64 | amd64) machine=x64 ;;
    aarch64 | arm64) machine=arm64 ;;
    *) fail "there is no release for the processor $machine" "build it from a checkout" ;;
  esac
  case $system in
    Linux)
      platform=linux-$machine
      if is_musl; then platform=$platform-musl; fi
      # Without the file nothing is known; the baseline runs everywhere.
      [ "$machine" != x64 ] || case $(cat /proc/cpuinfo 2>/dev/null || :) in
        *avx2*) ;;
        *) platform=$platform-baseline ;;
      esac
      ;;
    Darwin)
      # An Intel shell on Apple silicon.
      [ "$(sysctl -n sysctl.proc_translated 2>/dev/null || :)" != 1 ] || machine=arm64
      platform=darwin-$machine
      ;;
    *) fail "this script does not know $system" "on Windows, run install.ps1" ;;
  esac
}

is_musl() {
  case $(ldd --version 2>&1 || :) in
    *musl*) return 0 ;;
    *GLIBC* | *GNU*) return 1 ;;
  esac
  for loader in /lib/ld-musl-*.so.1; do
    [ -e "$loader" ] && [ ! -e /lib64/ld-linux-x86-64.so.2 ] && [ ! -e /lib/ld-linux-aarch64.so.1 ] && return 0
  done
  return 1
}

# Sets `source`: an address without a slash at its end, or an absolute folder.
find_source() {
  source=${from:-${CTXBRIDGE_RELEASES:-$RELEASES}}
  # A release that was fetched as a whole brings this script along.
  if [ -z "$source" ] && [ -n "$here" ] && [ -f "$here/SHA256SUMS" ]; then source=$here; fi
  [ -n "$source" ] || fail "the address of releases is not set: none is published yet" \
    "say where one is with --from URL or --from DIR, or in CTXBRIDGE_RELEASES" 64
  case $source in
    http://*@*) fail "not an address to install from: $source" "https://…, file://… or a folder" 64 ;;
    https://?* | http://localhost[:/]* | http://127.0.0.1[:/]* | "http://[::1]"[:/]*) find_fetcher ;;
    file:///*) source=${source#file://} ;;
    http://localhost | http://127.0.0.1) find_fetcher ;;
    *://*) fail "not an address to install from: $source" "https://…, file://… or a folder" 64 ;;
    /*) ;;
    *) source=$(pwd)/$source ;;
  esac
  source=${source%/}
}

find_fetcher() {
  if has curl; then
    fetcher=curl
  elif has wget; then
    fetcher=wget
    # busybox's goes wherever a server sends it, also to http.
    case $(wget --version 2>&1 || :) in
      *"GNU Wget"*) ;;
      *) fail "this wget cannot refuse a redirect to http" "install curl, or GNU wget" ;;
    esac
  else
    fail "curl is missing" "install curl or GNU wget, or fetch the release by other means and use --from DIR"
  fi
}

is_address() { case $source in http://* | https://*) ;; *) return 1 ;; esac }

# by_curl URL FILE
by_curl() {
  case $1 in https://*) scheme='=https' ;; *) scheme='=http,https' ;; esac
  quiet=-sS
  [ ! -t 2 ] || quiet=-#
  curl $quiet -fL --proto "$scheme" --proto-redir '=https' --max-redirs 5 --connect-timeout 20 \
    --speed-limit 1 --speed-time 30 -C - -o "$2" -- "$1"
}

# by_wget URL FILE: it has no option against a redirect to http, so redirects are followed here.
by_wget() {
  address=$1
  for _ in 1 2 3 4 5 6; do
    log=$bindir/.ctxbridge.$$.log
    status=0
    wget -nv -S --max-redirect=0 --tries=1 --timeout=30 -c -O "$2" -- "$address" 2>"$log" || status=$?
    [ "$status" != 0 ] || return 0
    next=
    while read -r word value; do
      case $word in [Ll]ocation:) next=${value%% *} ;; esac
    done <"$log"
    if [ -z "$next" ]; then
      cat -- "$log" >&2
      return "$status"
    fi
    case $next in
      https://*) address=$next ;;
      *)
        printf '%s redirects to %s\n' "$address" "$next" >&2
        return 1
        ;;
    esac
  done
  return 1
}

# fetch NAME FILE: gets a file of the release. What FILE has already is not fetched again.
fetch() {
  if ! is_address; then
    cp -- "$source/$1" "$2"
  else
    "by_$fetcher" "$source/$1" "$2"
  fi
}

# sum_of FILE: prints its SHA-256.
sum_of() {
  if has sha256sum; then
    line=$(sha256sum <"$1")
  elif has shasum; then
    line=$(shasum -a 256 <"$1")
  else
    line=$(openssl dgst -sha256 -r <"$1")
  fi
  printf '%s\n' "${line%% *}"
}

# sum_named NAME: prints what SHA256SUMS says of a file.
sum_named() {
  while read -r sum name; do
    [ "${name#"*"}" != "$1" ] || case $sum in
      *[!0-9a-f]*) ;;
      *) [ ${#sum} != 64 ] || printf '%s\n' "$sum" ;;
    esac
  done <"$sums"
}

# Sets `version`: the one that was asked for, or else the only one that the release has for this system.
find_version() {
  rm -f -- "$sums"
  fetch SHA256SUMS "$sums" || return 1
  version=
  others=
  while read -r _ name; do
    name=${name#"*"}
    case $name in "ctxbridge-"[0-9]*"-$platform") ;; *) continue ;; esac
    found=${name#ctxbridge-}
    found=${found%"-$platform"}
    case $found in *[!0-9A-Za-z.+-]*) continue ;; esac
    if [ -n "$wanted" ] && [ "$found" != "$wanted" ]; then
      others="$others $found"
    else
      [ -z "$version" ] || fail "$source has several versions: $version, $found" "choose one with --version"
      version=$found
    fi
  done <"$sums"
  [ -z "$version" ] || return 0
  # A release leaves the baseline out if it is the same binary.
  case $platform in
    *-baseline)
      platform=${platform%-baseline}
      find_version
      ;;
  esac
}

find_release() {
  sums=$bindir/.ctxbridge.$$.sums
  (: >"$sums") 2>/dev/null || fail "cannot write to $bindir" "choose another place with --prefix DIR, or make room"
  shown=$source
  find_version || fail "cannot get SHA256SUMS from $shown" "the lines above say why; nothing was changed"
  [ -z "$wanted" ] || [ -n "$version" ] || find_elsewhere
  [ -n "$version" ] || fail "$shown has nothing for $platform" "build it from a checkout, or choose with --platform"
}

# Other versions than the newest lie in folders of their own.
find_elsewhere() {
  case $source in
    */releases/latest/download) source=${source%/latest/download}/download/v$wanted ;;
    *) source=$source/v$wanted ;;
  esac
  find_version || version=
  [ -n "$version" ] || fail "there is no version $wanted for $platform at $shown" "${others:+it has$others}"
}

# adopt_part: goes on with what an interrupted install of the same file has fetched.
adopt_part() {
  part=$bindir/.ctxbridge.$packed_sum.$$.part
  for left in "$bindir"/.ctxbridge.*.part; do
    pid=${left%.part}
    pid=${pid##*.}
    if is_running "$pid"; then continue; fi
    case $left in
      "$bindir/.ctxbridge.$packed_sum."*) [ -e "$part" ] || mv -- "$left" "$part" 2>/dev/null || : ;;
    esac
    rm -f -- "$left"
  done
}

# Gets the file, with the right SHA-256, or fails.
get_packed() {
  if ! is_address; then
    packed=$source/$packed_name
    [ -f "$packed" ] || fail "$source has no $packed_name" "SHA256SUMS names it"
    [ "$(sum_of "$packed")" = "$packed_sum" ] || bad_sum
    return
  fi
  adopt_part
  packed=$part
  resumed=0
  if [ -s "$part" ]; then
    resumed=1
    if [ "$(sum_of "$part")" = "$packed_sum" ]; then return; fi
    say "Going on with what an earlier try has fetched"
  fi
  status=0
  fetch "$packed_name" "$part" || status=$?
  if [ "$resumed" = 1 ] && { [ "$status" != 0 ] || [ "$(sum_of "$part")" != "$packed_sum" ]; }; then
    # Not every server can go on in the middle, and the file may have changed.
    rm -f -- "$part"
    status=0
    fetch "$packed_name" "$part" || status=$?
  fi
  if [ "$status" != 0 ]; then
    case $fetcher$status in
      curl23 | wget3)
        rm -f -- "$part"
        fail "cannot write to $bindir" "is the disk full?"
        ;;
    esac
    [ -s "$part" ] || rm -f -- "$part"
    fail "cannot get $packed_name from $shown" "nothing was changed; run this again, and it goes on where it stopped"
  fi
  [ "$(sum_of "$part")" = "$packed_sum" ] || bad_sum
}

bad_sum() {
  [ -z "$part" ] || rm -f -- "$part"
  fail "$packed_name from $shown is not what SHA256SUMS says" "nothing was changed; try again, or ask whoever publishes it"
}

from_release() {
  [ "$deps_only" = 0 ] || fail "--deps-only needs a checkout" "" 64
  has sha256sum || has shasum || has openssl ||
    fail "nothing here computes SHA-256" "install sha256sum, shasum or openssl"
  find_platform
  find_source
  make_bindir
  find_release
  name=ctxbridge-$version-$platform
  own_sum=$(sum_named "$name")
  packed_name=$name.gz
  packed_sum=$(sum_named "$packed_name")
  if [ -z "$packed_sum" ] || ! has gzip; then
    packed_name=$name
    packed_sum=$own_sum
  fi
  [ -n "$own_sum" ] && [ -n "$packed_sum" ] || fail "SHA256SUMS of $shown is damaged" "nothing was changed"
  say "Getting ctxbridge $version for $platform from $shown"
  get_packed
  case $packed_name in
    *.gz) gzip -dc <"$packed" >"$staged" ;;
    *) cp -- "$packed" "$staged" ;;
  esac || fail "cannot write to $bindir" "is the disk full?"
  [ "$(sum_of "$staged")" = "$own_sum" ] || bad_sum
}

# Runs what is about to be installed, so that nothing takes the place of the former one that does not run here.
try_staged() {
  status=0
  answer=$("$staged" --version 2>&1) || status=$?
  [ "$status" != 0 ] || [ "$answer" != "ctxbridge $version" ] || return 0
  hint="nothing was changed"
  case $platform$status in
    *musl*) hint="it needs libstdc++: apk add libstdc++" ;;
    linux-x64132) hint="try --platform linux-x64-baseline" ;;
  esac
  fail "the binary for $platform does not run here: ${answer:-exit $status}" "$hint"
}

put_in_place() {
  chmod 0755 "$staged"
  if [ "$(uname -s)" = Darwin ]; then quietly "signing" codesign --force --sign - "$staged"; fi
  if [ "$built" = 0 ]; then try_staged; fi
  moving=1
  mv -f -- "$staged" "$target"
  [ -z "$part" ] || rm -f -- "$part"
}

# Runs a command of ctxbridge. The script itself may be our standard input: then a terminal is asked directly.
run_installed() {
  if [ -n "$here" ]; then
    "$target" "$@"
  elif [ -t 1 ] && (: </dev/tty) 2>/dev/null; then
    "$target" "$@" </dev/tty
  else
    "$target" "$@" </dev/null
  fi
}

# What was installed, and what comes next, in six lines. `ctxbridge install` prints the last four.
finish() {
  # Whoever builds wants to see that it works; a release was tried before.
  [ "$built$demo" != 1 ] || show_demo --quiet
  say "Installed  $target"
  say "PATH       $(path_text)"
  if [ "$hooks" = 1 ]; then
    # shellcheck disable=SC2086 # empty, or one word
    run_installed install --quiet $import $model || fail "the hooks are not registered" "the program is installed; then run: $target install"
  elif [ "$model" = --model ]; then
    run_installed model install --yes || say "Model      not there; later: $target model install"
  fi
  [ "$demo" != 1 ] || show_demo
}

show_demo() { run_installed demo "$@" || fail "the demo failed" "run: $target doctor"; }

path_text() {
  case :${PATH:-}: in
    *:"$bindir":*)
      first=$(command -v ctxbridge || true)
      if [ "$first" = "$target" ]; then
        say "ok"
      else
        say "has another ctxbridge first: $first"
      fi
      ;;
    *) say "add this line to your shell's start file: export PATH=\"$bindir:\$PATH\"" ;;
  esac
}

main() {
  read_options "$@"
  find_script
  # Each would turn Bun, or the binary that it builds, into something else.
  unset BUN_OPTIONS BUN_BE_BUN BUN_INSPECT BUN_INSPECT_CONNECT_TO
  trap clean_up EXIT
  trap 'interrupted 130' INT
  trap 'interrupted 143' TERM HUP
  if [ -z "$from$wanted$platform" ] && in_checkout; then
    built=1
    from_checkout
  else
    built=0
    from_release
  fi
  put_in_place
  finish
  exit 0
}

# The last line, so that a script that arrives in part does nothing.
main "$@"
