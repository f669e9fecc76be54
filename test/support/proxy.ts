/** A proxy of the compiled binary, as long as a test needs it. */
import { existsSync, readFileSync } from "node:fs"
import { binary } from "./binary.ts"

interface Listening extends AsyncDisposable {
  readonly url: string
  /** Its first event. */
  readonly first: Record<string, unknown>
  /** The most it has taken so far, in MB; undefined where nobody says. */
  memory(): number | undefined
  /** Ends it as Ctrl-C does. @returns its last event */
  end(): Promise<Record<string, unknown>>
}

/** @param args with `--json` */
export async function listening(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<Listening> {
  const child = Bun.spawn([binary(), ...args], { env, stdin: "ignore", stdout: "pipe", stderr: "pipe" })
  const stderr = new Response(child.stderr).text()
  const lines = linesOf(child.stdout)
  const first = (await lines.next()).value
  if (first === undefined) throw new Error(`the proxy ended at once: ${await child.exited}`)
  const event = JSON.parse(first) as Record<string, unknown>
  return {
    url: String(event["url"]),
    first: event,
    memory() {
      const status = `/proc/${child.pid}/status`
      if (!existsSync(status)) return undefined
      return Number(/^VmHWM:\s*(\d+)/m.exec(readFileSync(status, "utf8"))?.[1]) / 1024
    },
    async end() {
      child.kill("SIGINT")
      const last = (await lines.next()).value
      const said = [await child.exited, await stderr].join(" ")
      if (said !== "0 ") throw new Error(`the proxy ended with ${said}`)
      return JSON.parse(last ?? "{}") as Record<string, unknown>
    },
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL")
      await child.exited
    },
  }
}

async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string, undefined> {
  const decoder = new TextDecoder()
  let rest = ""
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n")
    rest = lines.pop() ?? ""
    yield* lines
  }
  return undefined
}
