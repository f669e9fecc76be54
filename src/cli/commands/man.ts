/** `ctxbridge man`: the manual page. */
import { version } from "../../../package.json"
import { type Command, GLOBAL_ARGS } from "../command.ts"
import { GROUPS, PLUMBING } from "../command-groups.ts"
import { COMMANDS } from "../commands.ts"
import { commandModels } from "../completions/command-words.ts"
import { manPage } from "../man-page.ts"

export default {
  meta: { name: "man", description: "Print the manual page: ctxbridge man | man -l -", badOptions: "unread" },
  async run({ out }) {
    const groups = [
      ...GROUPS.map(({ title, commands, also = [] }) => ({ title, names: [...commands, ...also] })),
      { title: "Called by other programs", names: PLUMBING },
    ]
    const sections = await Promise.all(
      groups.map(async ({ title, names }) => ({
        title,
        commands: commandModels(
          await Promise.all(names.map(async (name) => (await COMMANDS[name]!()).default)),
        ),
      })),
    )
    const page = manPage(version, sections, Object.keys(GLOBAL_ARGS))
    out.print(page.trimEnd())
    out.json({ page })
  },
} satisfies Command
