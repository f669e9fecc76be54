/** `ctxbridge completions`: what a shell needs to complete our commands. */
import { unknownWord } from "../args.ts"
import type { Command } from "../command.ts"
import { COMMANDS } from "../commands.ts"
import { commandModels } from "../completions/command-words.ts"
import { bashCompletions, fishCompletions, zshCompletions } from "../completions/scripts.ts"

const SHELLS = { bash: bashCompletions, zsh: zshCompletions, fish: fishCompletions } as const

const isShell = (name: string): name is keyof typeof SHELLS => Object.hasOwn(SHELLS, name)

export default {
  meta: { name: "completions", description: "Print completions for a shell", badOptions: "unread" },
  args: {
    shell: { type: "positional", required: true, description: "Which shell", valueHint: "bash|zsh|fish" },
  },
  async run({ args, out }) {
    const shell = String(args["shell"])
    if (!isShell(shell)) throw unknownWord("shell", shell, Object.keys(SHELLS))
    const loaded = await Promise.all(Object.values(COMMANDS).map((load) => load()))
    const script = SHELLS[shell](commandModels(loaded.map((module) => module.default)))
    out.print(script.trimEnd())
    out.json({ shell, script })
  },
} satisfies Command
