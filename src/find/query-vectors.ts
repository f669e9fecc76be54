/**
 * Turns queries into vectors: here, or in a process of its own for whoever must not stop meanwhile. Loading the model
 * takes 0.1 to 0.4 s, and what is native in it could crash its process.
 */

import { compileAsUsual } from "../base/own-program.ts"
import { STDOUT, writeAll } from "../base/write-output.ts"
import { childEnvironment, type Paths } from "../config/load.ts"
import { type Embedder, openEmbedder, vectorOf } from "./embed/embedder.ts"
import type { QueryVector } from "./embed/semantic-search.ts"
import { isFiller, parseQuery } from "./parse-query.ts"

type Place = Pick<Paths, "dataHome" | "stateHome">

/** What the model makes of a query. */
interface Meant {
  readonly vector: QueryVector
  /** Whether it knows a word of what the query is about. */
  readonly hasWords: boolean
}

/**
 * @param model id of the embedder that is installed; what is used may be another one, which the vector tells
 * @returns undefined if there is no answer, or nobody waits for it any more
 */
export type AskModel = (model: string, query: string) => Promise<Meant | undefined>

/** Kept for the next query of the process. */
let loaded: { readonly id: string; readonly embedder: Promise<Embedder> } | undefined

export const askHere =
  (place: Place): AskModel =>
  async (model, query) => {
    compileAsUsual()
    if (loaded?.id !== model) loaded = { id: model, embedder: openEmbedder(place) }
    return meantBy(await loaded.embedder, query)
  }

export const meantBy = async (embedder: Embedder, query: string): Promise<Meant> => ({
  vector: await vectorOf(embedder, query),
  hasWords: parseQuery(query).terms.some(
    ({ typed }) => !isFiller(typed.toLowerCase()) && embedder.knows(typed),
  ),
})

/* The same in a child: a line of JSON for each query, and one for each answer, in order. */

interface Answer {
  readonly embedder: string
  /** Base64 of 32-bit floats. */
  readonly values: string
  readonly hasWords: boolean
}

/** `ctxbridge __vectors DATA STATE`: reads queries until its input ends. The model is loaded before the first is there. */
export async function runVectors([dataHome = "", stateHome = ""]: readonly string[]): Promise<void> {
  compileAsUsual()
  // Whoever is killed while loading counts as having died of it (embed/embedder.ts): the end of the input is what ends us.
  for (const signal of ["SIGHUP", "SIGINT"]) process.on(signal, () => {})
  const embedder = await openEmbedder({ dataHome, stateHome })
  for await (const line of console) {
    if (line === "") continue
    const { vector, hasWords } = await meantBy(embedder, JSON.parse(line))
    const { buffer, byteOffset, byteLength } = vector.values
    const values = Buffer.from(buffer, byteOffset, byteLength).toString("base64")
    const answer = { embedder: vector.embedder, values, hasWords } satisfies Answer
    writeAll(STDOUT, `${JSON.stringify(answer)}\n`)
  }
}

/** That child, as its parent has it. */
export class VectorChild {
  readonly #child: Bun.Subprocess<"pipe", "pipe", "ignore">
  /** Who waits, in the order in which they have asked. */
  readonly #waiting: ((answer: Meant | undefined) => void)[] = []

  /** @param command what starts ctxbridge */
  constructor(command: readonly string[], { dataHome, stateHome }: Place) {
    this.#child = Bun.spawn([...command, "__vectors", dataHome, stateHome], {
      stdio: ["pipe", "pipe", "ignore"],
      windowsHide: true,
      cwd: "/",
      env: childEnvironment(),
    })
    this.#child.unref()
    // An answer that cannot be read is none.
    this.#read().catch(() => {})
  }

  /** @returns undefined if it has ended, or cannot answer */
  async ask(query: string): Promise<Meant | undefined> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return undefined
    const { promise, resolve } = Promise.withResolvers<Meant | undefined>()
    this.#waiting.push(resolve)
    this.#child.stdin.write(`${JSON.stringify(query)}\n`)
    await this.#child.stdin.flush()
    return promise
  }

  async #read(): Promise<void> {
    const decoder = new TextDecoder()
    let rest = ""
    try {
      for await (const chunk of this.#child.stdout) {
        const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n")
        rest = lines.pop()!
        for (const answer of lines.map(meantIn)) this.#waiting.shift()?.(answer)
      }
    } finally {
      for (const tell of this.#waiting.splice(0)) tell(undefined)
    }
  }

  /** It ends by itself, once it has loaded: see `runVectors`. */
  [Symbol.dispose](): void {
    this.#child.stdin.end()
  }
}

function meantIn(line: string): Meant {
  const { embedder, values, hasWords } = JSON.parse(line) as Answer
  const bytes = Uint8Array.from(Buffer.from(values, "base64"))
  return { vector: { embedder, values: new Float32Array(bytes.buffer) }, hasWords }
}
