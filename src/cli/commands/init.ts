/** `ctxbridge init`: what a shell needs to open the picker at a key. */
import { unknownWord } from "../args.ts"
import { type Command, option } from "../command.ts"
import { type Shell, shellWidget, widgetKey } from "../shell-widgets.ts"

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
  },
  run({ args, out, env }) {
    const named = String(args["shell"])
    const shell = SHELLS.find((one) => one === named)
    if (shell === undefined) throw unknownWord("shell", named, SHELLS)
    // Where nobody finds us by our name, only the whole path names us.
    const program = Bun.which("ctxbridge") === null ? env.exePath : "ctxbridge"
    const script = shellWidget(shell, widgetKey(String(args["key"] ?? KEY)), program)
    out.print(script.trimEnd())
    out.json({ shell, script })
  },
} satisfies Command
