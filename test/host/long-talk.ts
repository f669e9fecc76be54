/** A conversation that is long enough to be pruned: for every way of pruning the same. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { prefixChanges } from "./bound-thoughts.ts"
import { type Stage, transcripts } from "./checks.ts"
import { type PrintRun, runPrint } from "./drive.ts"
import { bash, type Recorded, type Step } from "./mock-api.ts"

/** Options with which it is pruned twice or so. */
export const EAGER = {
  CTXBRIDGE_PRUNE_WHEN: "prompt",
  CTXBRIDGE_PRUNE_THRESHOLD: "3000",
  CTXBRIDGE_PRUNE_KEEP: "2",
}

export const TURNS = 8
const LENGTH = 3000

/** The end of a prompt, and of an answer: gone once it was pruned. */
export const promptEnd = (n: number): string => `end of prompt ${n}.`
export const answerEnd = (n: number): string => `end of answer ${n}.`

const long = (begin: string, end: string): string => `${begin} ${"and so on, ".repeat(LENGTH / 11)}${end}`

const thinking = (step: Step, think: string): Step => ({ ...step, think })

export interface Talk {
  readonly run: PrintRun
  /** What the model was asked, without the client's questions on the side. */
  readonly main: readonly Recorded[]
  readonly refused: readonly string[]
  readonly prefixChanges: number
  /** The transcript as the client has stored it. */
  readonly stored: string
}

export async function talk(stage: Stage, args: readonly string[] = []): Promise<Talk> {
  const { mock, world } = stage
  const prompts = Array.from({ length: TURNS }, (_, n) => long(`Step ${n}: look at part ${n}`, promptEnd(n)))
  for (const n of prompts.keys()) {
    mock.plan(`Step ${n}:`, [
      thinking(bash(`echo output ${n}`), `I look at part ${n}.`),
      thinking({ text: long(`Part ${n} is`, answerEnd(n)) }, `I have seen part ${n}.`),
    ])
  }
  const from = mock.requests.length
  const run = await runPrint(world, prompts, args)
  const main = mock.requests.slice(from).filter(({ kind }) => kind === "main")
  const [file = ""] = transcripts(world).filter((path) => path.includes(run.sessionId))
  return {
    run,
    main,
    refused: main.flatMap(({ refused }) => refused ?? []),
    prefixChanges: prefixChanges(main),
    stored: readFileSync(join(world.home, ".claude", "projects", file), "utf8"),
  }
}

/** Of these texts, those that a request has. */
export function textsIn({ body }: Recorded, texts: readonly string[]): string[] {
  const json = JSON.stringify(body.messages)
  return texts.filter((text) => json.includes(text))
}
