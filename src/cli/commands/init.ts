/** `ctxbridge init`: what a shell needs to open the picker at a key. */
import { usageError } from "../../base/errors.ts"
import { singleQuoted } from "../../base/text.ts"
import { stringArg, unknownWord } from "../args.ts"
import { type Command, option } from "../command.ts"
import { heightOf } from "../picker/picker-state.ts"

const SHELLS: readonly Shell[] = ["zsh", "bash", "fish"]
const KEY = "ctrl-g"

export default {
  meta: {
    name: "init",
    description: "Print a function that binds the picker to a key",
    badOptions: "unread",
  },
  args: {
    shell: { type: "positional", required: true, description: "Which shell", valueHint: SHELLS.join("|") },
    key: option(`Which key (${KEY})`, "KEY"),
    height: option("Open it below the prompt, in so many rows, rather than on the whole screen", "N|N%"),
  },
  run({ args, out, env }) {
    const named = String(args["shell"])
    const shell = SHELLS.find((one) => one === named)
    if (shell === undefined) throw unknownWord("shell", named, SHELLS)
    // Where nobody finds us by our name, only the whole path names us.
    const program = Bun.which("ctxbridge") === null ? env.exePath : "ctxbridge"
    const height = stringArg(args, "height")
    // Said now, not at the key.
    heightOf(height)
    const pick = `${singleQuoted(program)} pick --print${height === undefined ? "" : ` --height=${height}`}`
    const script = shellWidget(shell, widgetKey(String(args["key"] ?? KEY)), pick)
    out.print(script.trimEnd())
    out.json({ shell, script })
  },
} satisfies Command

/* Functions for shells that open the picker at a key and put what is chosen into the command line. Pure. */

type Shell = "zsh" | "bash" | "fish"

/** A key that every shell can bind, and that the terminal does not take for itself. */
interface WidgetKey {
  readonly modifier: "ctrl" | "alt"
  readonly letter: string
}

/**
 * @param text such as `ctrl-g`, `alt-m`
 * @throws CtxError exit 64
 */
function widgetKey(text: string): WidgetKey {
  const [, modifier, letter] = /^(ctrl|alt)-([a-z])$/.exec(text.toLowerCase()) ?? []
  // Enter, Tab and Backspace send the same as these.
  if (modifier === undefined || letter === undefined || (modifier === "ctrl" && "mijh".includes(letter)))
    throw usageError(`--key ${text} is no key that can be bound`, "such as ctrl-g or alt-m")
  return { modifier: modifier as WidgetKey["modifier"], letter }
}

/** @param command what opens the picker, as the shell reads it */
function shellWidget(shell: Shell, { modifier, letter }: WidgetKey, command: string): string {
  const isCtrl = modifier === "ctrl"
  // A name that an alias has would be replaced by it.
  const pick = `command ${command}`
  switch (shell) {
    case "zsh":
      return `# ctxbridge for zsh. Put into ~/.zshrc:  eval "$(ctxbridge init zsh)"
_ctxbridge_pick() {
  local chosen
  chosen=$(${pick} </dev/tty)
  LBUFFER+=$chosen
  zle reset-prompt
}
zle -N _ctxbridge_pick
bindkey -M emacs '${isCtrl ? `^${letter.toUpperCase()}` : `^[${letter}`}' _ctxbridge_pick
bindkey -M viins '${isCtrl ? `^${letter.toUpperCase()}` : `^[${letter}`}' _ctxbridge_pick
`
    case "bash":
      return `# ctxbridge for bash 4 or later. Put into ~/.bashrc:  eval "$(ctxbridge init bash)"
_ctxbridge_pick() {
  local chosen
  chosen=$(${pick} </dev/tty)
  READLINE_LINE=\${READLINE_LINE:0:READLINE_POINT}$chosen\${READLINE_LINE:READLINE_POINT}
  READLINE_POINT=$((READLINE_POINT + \${#chosen}))
}
bind -m emacs -x '"${isCtrl ? "\\C-" : "\\e"}${letter}": _ctxbridge_pick'
bind -m vi-insert -x '"${isCtrl ? "\\C-" : "\\e"}${letter}": _ctxbridge_pick'
`
    case "fish":
      return `# ctxbridge for fish. Put into ~/.config/fish/config.fish:  ctxbridge init fish | source
function _ctxbridge_pick
    set -l chosen (${pick} </dev/tty)
    commandline -i -- (string join ' ' -- $chosen)
    commandline -f repaint
end
bind ${isCtrl ? "\\c" : "\\e"}${letter} _ctxbridge_pick
bind -M insert ${isCtrl ? "\\c" : "\\e"}${letter} _ctxbridge_pick
`
  }
}
