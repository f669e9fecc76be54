#!/bin/sh
# Builds ctxbridge from this checkout and installs it for the current user. Needs Node 20 or newer with npm.
set -eu

usage() {
  cat <<'USAGE'
Usage: sh install.sh [options]

  --prefix DIR   install DIR/bin/ctxbridge (default: ~/.local)
  --no-hooks     do not register the hooks in Claude Code's settings
  --import       archive the transcripts that are there, in the background
  --no-import    leave them alone; without either, a terminal is asked
  --no-demo      do not show the demo at the end
  --deps-only    only fetch what building and testing need, into node_modules
  --help         show this text

Nothing needs root, and no shell start file is touched. Run it again to upgrade.
Undo: ctxbridge uninstall, then delete DIR/bin/ctxbridge.
USAGE
}

say() { printf '%s\n' "$*"; }

# fail MESSAGE [HINT [EXIT]]
fail() {
  printf 'install.sh: %s\n' "$1" >&2
  if [ -n "${2:-}" ]; then printf 'hint: %s\n' "$2" >&2; fi
  exit "${3:-1}"
}

prefix=
hooks=1
import=
demo=1
deps_only=0
while [ $# -gt 0 ]; do
  case $1 in
    --prefix)
      [ -n "${2:-}" ] || fail "--prefix needs a folder" "sh install.sh --help" 64
      prefix=$2
      shift
      ;;
    --prefix=*)
      prefix=${1#--prefix=}
      # Probably a variable that was never set, so the default would be wrong.
      [ -n "$prefix" ] || fail "--prefix needs a folder" "sh install.sh --help" 64
      ;;
    --no-hooks) hooks=0 ;;
    --import | --no-import) import=$1 ;;
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

# Each would turn Bun, or the binary that it builds, into something else.
unset BUN_OPTIONS BUN_BE_BUN BUN_INSPECT BUN_INSPECT_CONNECT_TO
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
cd -- "$here"

log=
staged=
trap 'rm -f -- ${log:+"$log"} ${staged:+"$staged"}' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

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

get_deps
[ "$deps_only" = 0 ] || exit 0

need_node
# Bun first writes the binary under such a name. A killed build leaves it behind, 130 MB each time.
rm -f .*.bun-build
say "Building"
quietly "the build" npm run -s build
[ -x dist/ctxbridge ] || fail "the build made no dist/ctxbridge"

bindir=${prefix%/}/bin
target=$bindir/ctxbridge
mkdir -p -- "$bindir" || fail "cannot make $bindir" "choose another place with --prefix DIR"
[ ! -d "$target" ] || fail "$target is a folder" "choose another place with --prefix DIR"
# Remove what killed installs left, but not the file of one that is still running.
for left in "$bindir"/.ctxbridge.*.tmp; do
  pid=${left#"$bindir"/.ctxbridge.}
  pid=${pid%.tmp}
  case $pid in '' | *[!0-9]*) continue ;; esac
  kill -0 "$pid" 2>/dev/null || rm -f -- "$left"
done
# Copy and rename: a running ctxbridge keeps its file, and nobody ever sees an incomplete one.
staged=$bindir/.ctxbridge.$$.tmp
cp -- dist/ctxbridge "$staged" || fail "cannot write to $bindir" "choose another place with --prefix DIR"
chmod 0755 "$staged"
if [ "$(uname -s)" = Darwin ]; then quietly "signing" codesign --force --sign - "$staged"; fi
mv -f -- "$staged" "$target"
staged=
say "Installed $target"

if [ "$hooks" = 1 ]; then
  # shellcheck disable=SC2086 # empty, or one word
  "$target" install $import || fail "the hooks are not registered" "the program is installed; then run: $target install"
fi

case :${PATH:-}: in
  *:"$bindir":*)
    first=$(command -v ctxbridge || true)
    [ "$first" = "$target" ] || say "Note: \`ctxbridge\` on your PATH is another one: $first"
    ;;
  *)
    say "Note: $bindir is not on your PATH. Add this line to your shell's start file:"
    say "  export PATH=\"$bindir:\$PATH\""
    ;;
esac

if [ "$demo" = 1 ]; then
  "$target" demo || fail "the demo failed" "run: $target doctor"
fi
