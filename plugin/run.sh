#!/bin/sh
# Runs ctxbridge for the plugin: `run.sh hook EVENT`, `run.sh mcp`, `run.sh show COMMAND…`.
# A hook ends with 0 and without a word, whatever is missing. POSIX sh and grep.

# The one on PATH, else where install.sh puts it. Never one of the folder that somebody works in.
find_binary() {
  binary=$(command -v ctxbridge 2>/dev/null) || binary=
  case $binary in /*) [ ! -x "$binary" ] || return 0 ;; esac
  binary=${HOME:-}/.local/bin/ctxbridge
  [ -x "$binary" ] || binary=
}

# Whether `ctxbridge install` has registered this hook: then Claude Code calls it from there, and a second call would
# only repeat what it says.
in_settings() {
  project=${CLAUDE_PROJECT_DIR:-.}/.claude
  grep -qsE "ctxbridge(\.exe)?['\"\\\\]* hook $1\"" \
    "${CLAUDE_CONFIG_DIR:-${HOME:-}/.claude}/settings.json" "$project/settings.json" "$project/settings.local.json"
}

# Each would make something else of the binary.
unset BUN_OPTIONS BUN_BE_BUN BUN_INSPECT BUN_INSPECT_CONNECT_TO

find_binary
lacks='The ctxbridge plugin has no program to run: it is neither on PATH nor in ~/.local/bin. Get it with /ctxbridge:setup'
case ${1:-} in
  hook)
    if in_settings "${2:-}"; then exit 0; fi
    if [ -n "$binary" ]; then exec "$binary" "$@"; fi
    [ "${2:-}" != session-start ] || printf '{"systemMessage":"%s"}\n' "$lacks"
    exit 0
    ;;
  show)
    # Of a command that fails, Claude Code shows less than what it has said.
    shift
    if [ -z "$binary" ]; then echo "$lacks"; else "$binary" "$@" 2>&1 || :; fi
    exit 0
    ;;
  mcp) set -- mcp --plugin ;;
esac
if [ -z "$binary" ]; then
  echo "$lacks" >&2
  exit 1
fi
exec "$binary" "$@"
