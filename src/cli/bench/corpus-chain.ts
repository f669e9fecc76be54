/** The lines of a generated session, each with the fields that the host adds and its place in the chain. */
import { chained } from "../../claude/fake/transcript.ts"
import type { Dice } from "./seeded-random.ts"

export interface CorpusOptions {
  /** Any integer. Different seeds give different sessions of different projects. */
  readonly seed: number
  /** The transcript ends with the first line that reaches this many bytes, overshooting by less than 16 KB. */
  readonly bytes: number
  readonly sessionId: string
  readonly cwd: string
  /** The host's version, for example "2.1.229". */
  readonly version: string
  /** The transcript ends after this many turns, if that comes first. */
  readonly turns?: number
  /** `work` (default): turns as in the field. `talk`: a prompt and a short answer, about 2 KB a turn. */
  readonly style?: "work" | "talk"
  /** To continue a session: the uuid of its last record. Opening lines are then omitted. */
  readonly after?: string
  /** Maximum length of a tool result, in characters. */
  readonly largestResult?: number
}

export interface ChainLine {
  readonly text: string
  readonly uuid: string | undefined
  readonly prompt: boolean
}

/** 2026-03-02 08:00 UTC; sessions begin up to 90 days later, depending on the seed. */
const EPOCH_MS = 1_772_438_400_000

export class Chain {
  readonly #dice: Dice
  readonly #options: CorpusOptions
  #ms: number
  #lines: ChainLine[] = []
  /** Uuid of the chain's last line. */
  parent: string | null
  /** Bytes. */
  #written = 0

  constructor(dice: Dice, options: CorpusOptions) {
    this.#dice = dice
    this.#options = options
    this.#ms = EPOCH_MS + dice.between(0, 90 * 86_400_000)
    this.parent = options.after ?? null
  }

  /** Characters that a single field may still have, so that the end is not overshot by much. */
  get room(): number {
    return Math.max(600, Math.floor((this.#options.bytes - this.#written) / 4))
  }

  /** The lines added since the last call. */
  *drain(): Generator<ChainLine> {
    const lines = this.#lines
    this.#lines = []
    yield* lines
  }

  now(stepMs: number): string {
    this.#ms += stepMs
    return new Date(this.#ms).toISOString()
  }

  /** Adds a line outside the chain: no uuid, no parent. */
  loose(record: Record<string, unknown>): void {
    this.#push(JSON.stringify(record), undefined, false)
  }

  #push(json: string, uuid: string | undefined, prompt: boolean): void {
    const text = `${json}\n`
    this.#written += Buffer.byteLength(text)
    this.#lines.push({ text, uuid, prompt })
  }

  /** Adds a line to the chain, with the fields that the host adds to every one. */
  add(fields: Record<string, unknown>, ms: number, prompt = false): string {
    const uuid = this.#dice.uuid()
    const { sessionId, cwd, version } = this.#options
    const link = { parent: this.parent, uuid, timestamp: this.now(ms) }
    const record = chained({ session: sessionId, cwd, version }, link, fields, "around")
    this.#push(JSON.stringify(record), uuid, prompt)
    this.parent = uuid
    return uuid
  }

  attachment(attachment: Record<string, unknown>): void {
    this.add({ attachment, type: "attachment" }, 2)
  }
}
