/** `ctxbridge pick`, and `ctxbridge` alone at a terminal: searches all sessions while you type. */
import { wantsColor } from "../../config/load.ts"
import { stringArg, words } from "../args.ts"
import { type Command, flag, option } from "../command.ts"
import { heightOf } from "../picker/picker-state.ts"
import { runPicker } from "../picker/run-picker.ts"
import { AGENT_ARG, agentWanted } from "../project-wanted.ts"

export default {
  meta: { name: "pick", description: "Search all sessions as you type", badOptions: "unread" },
  args: {
    query: { type: "positional", rest: true, description: "What to begin with" },
    agent: AGENT_ARG,
    height: option("Below the prompt, in so many rows, rather than on the whole screen", "N|N%"),
    print: flag("Print what is chosen, rather than open or copy it"),
  },
  async run({ args, env, out }) {
    const isPrinting = args["print"] === true || out.wantsJson
    const agent = agentWanted(args)
    const { code, chosen } = await runPicker(env, {
      // As who types it narrows to it, and can take it away.
      query: [...(agent === undefined ? [] : [`agent:${agent}`]), ...words(args)].join(" "),
      isPrinting,
      height: heightOf(stringArg(args, "height")),
      // Of the terminal, which stdout need not be.
      color: wantsColor(true),
    })
    if (chosen === undefined) return code
    out.print(chosen)
    out.json({ chosen })
    return code
  },
} satisfies Command
