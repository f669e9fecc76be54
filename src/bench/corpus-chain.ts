/** The lines of a generated session: each with what the host puts around it, and its place in the chain. */
import type { Dice } from "./dice.ts"

export interface CorpusOptions {
  /** Any integer. Other seeds give other sessions of other projects. */
  readonly seed: number
  /** Ends with the first line that reaches this many bytes; it overshoots by less than 16 KB. */
  readonly bytes: number
  readonly sessionId: string
  readonly cwd: string
  /** The host's version, for example "2.1.229". */
  readonly version: string
  /** Ends after this many turns, if that comes first. */
  readonly turns?: number
  /** `work` (default): turns as in the field. `talk`: a prompt and a short answer, about 2 KB a turn. */
  readonly style?: "work" | "talk"
  /** Continue a session: the uuid of its last record. No opening lines are written then. */
  readonly after?: string
  /** No tool result longer than this many characters. */
  readonly largestResult?: number
}

export interface Line {
  readonly text: string
  readonly uuid: string | undefined
  readonly prompt: boolean
}

/** 2026-03-02 08:00 UTC; sessions of other seeds begin up to 90 days later. */
const EPOCH_MS = 1_772_438_400_000

export class Chain {
  readonly #dice: Dice
  readonly #options: CorpusOptions
  #ms: number
  #lines: Line[] = []
  /** uuid of the last line of the chain. */
  parent: string | null
  /** Bytes. */
  #written = 0

  constructor(dice: Dice, options: CorpusOptions) {
    this.#dice = dice
    this.#options = options
    this.#ms = EPOCH_MS + dice.between(0, 90 * 86_400_000)
    this.parent = options.after ?? null
  }

  /** Characters that a single field may still have, so that the end is not missed by much. */
  get room(): number {
    return Math.max(600, Math.floor((this.#options.bytes - this.#written) / 4))
  }

  /** What has come since the last time. */
  *drain(): Generator<Line> {
    const lines = this.#lines
    this.#lines = []
    yield* lines
  }

  now(stepMs: number): string {
    this.#ms += stepMs
    return new Date(this.#ms).toISOString()
  }

  /** A line outside the chain: no uuid, no parent. */
  loose(record: Record<string, unknown>): void {
    this.#push(JSON.stringify(record), undefined, false)
  }

  #push(json: string, uuid: string | undefined, prompt: boolean): void {
    const text = `${json}\n`
    this.#written += Buffer.byteLength(text)
    this.#lines.push({ text, uuid, prompt })
  }

  /** A line of the chain, with the fields that the host puts around every one of them. */
  add(fields: Record<string, unknown>, ms: number, prompt = false): string {
    const uuid = this.#dice.uuid()
    const { sessionId, cwd, version } = this.#options
    const record = {
      parentUuid: this.parent,
      isSidechain: false,
      ...fields,
      uuid,
      timestamp: this.now(ms),
      userType: "external",
      entrypoint: "cli",
      cwd,
      sessionId,
      version,
      gitBranch: "main",
    }
    this.#push(JSON.stringify(record), uuid, prompt)
    this.parent = uuid
    return uuid
  }

  attachment(attachment: Record<string, unknown>): void {
    this.add({ attachment, type: "attachment" }, 2)
  }
}
