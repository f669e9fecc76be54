/**
 * One answer of the user's own Claude Code, in print mode. It gets no tools, no servers and no hooks, writes no transcript
 * and knows nothing of the user's memory files, so what is in the prompt can make it say something wrong, but not do
 * anything.
 */
import { CtxError } from "../../base/errors.ts"
import { parseJson } from "../../base/json-files.ts"
import { runChild } from "../../base/processes.ts"
import { endProcessesIn, temporaryFolder } from "../../base/temporary.ts"
import { cut, oneLine } from "../../base/text.ts"
import { clientEnvironment } from "../../config/load.ts"
import { objectOf, stringOf } from "../../record/json.ts"

/** ms for one answer. */
const LONGEST = 180_000
const TOLD = 300

export interface Asked {
  /** Absolute path of the program. */
  readonly program: string
  readonly model: string
  readonly system: string
  readonly prompt: string
  /** Whether to end it before it has answered. */
  readonly isOver?: (() => boolean) | undefined
}

interface Answered {
  readonly text: string
  /** US dollars, as it reports; null: it does not. */
  readonly cost: number | null
  /** The model that answered. */
  readonly model: string
}

const NOTHING_BESIDES = [
  ...["--output-format", "json", "--max-turns", "1", "--tools", "", "--strict-mcp-config"],
  ...["--settings", '{"disableAllHooks":true}', "--disable-slash-commands", "--no-session-persistence"],
]

/** @throws CtxError `client-failed`, with what the client says */
export async function askClaude({ program, model, system, prompt, isOver }: Asked): Promise<Answered> {
  // When we are interrupted, what names the folder in its environment ends as well.
  using folder = temporaryFolder("summary", endProcessesIn)
  const env = { ...clientEnvironment(), TMPDIR: folder.path }
  const { stdout, stderr, code, late } = await runChild(
    [program, "-p", ...NOTHING_BESIDES, "--model", model, "--system-prompt", system],
    {
      ...{ timeout: LONGEST, stdin: prompt, cwd: folder.path, env },
      ...(isOver && { isOver }),
    },
  )
  if (late) throw failed(isOver?.() ? "claude was ended" : `claude gave no answer in ${LONGEST / 1000} s`)
  const result = objectOf(parseJson(stdout.trim()))
  const text = stringOf(result["result"])
  if (code !== 0 || result["is_error"] === true || text === undefined) {
    const said = text ?? (stderr.trim() || stdout.trim() || `exit code ${code}`)
    throw failed(`claude failed: ${cut(oneLine(said), TOLD)}`)
  }
  const cost = result["total_cost_usd"]
  const [used = model] = Object.keys(objectOf(result["modelUsage"]))
  return { text, cost: typeof cost === "number" ? cost : null, model: used }
}

const failed = (message: string): CtxError =>
  new CtxError("client-failed", message, {
    hint: "nothing was kept of it; `claude -p hello` shows whether it works",
  })
