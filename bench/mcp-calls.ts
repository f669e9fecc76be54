/** How long a tool call takes in a running server, from the request's bytes to the answer's. */

export interface ToolCall {
  readonly name: string
  readonly tool: string
  readonly args: Readonly<Record<string, unknown>>
}

export interface CallTimes {
  readonly name: string
  /** ms of each measured call. */
  readonly ms: readonly number[]
}

/** The calls alternate. The first round is not measured. */
export async function measureCalls(
  argv: readonly string[],
  options: { env: Record<string, string>; cwd: string },
  calls: readonly ToolCall[],
  rounds: number,
): Promise<CallTimes[]> {
  const child = Bun.spawn([...argv], { ...options, stdin: "pipe", stdout: "pipe", stderr: "inherit" })
  const lines = readLines(child.stdout)
  const ask = async (method: string, params: object): Promise<void> => {
    child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method, params })}\n`)
    await child.stdin.flush()
    const { value } = await lines.next()
    const reply = JSON.parse(value!) as { result?: { isError?: boolean } }
    if (reply.result === undefined || reply.result.isError) throw new Error(value!)
  }
  const client = {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "bench", version: "1" },
  }
  await ask("initialize", client)
  const times = calls.map(({ name }) => ({ name, ms: [] as number[] }))
  for (let round = 0; round <= rounds; round++) {
    for (const [n, { tool, args }] of calls.entries()) {
      const start = performance.now()
      await ask("tools/call", { name: tool, arguments: args })
      if (round > 0) times[n]!.ms.push(performance.now() - start)
    }
  }
  child.stdin.end()
  await child.exited
  return times
}

async function* readLines(stream: ReadableStream<Uint8Array>): AsyncGenerator<string, undefined> {
  const decoder = new TextDecoder()
  let rest = ""
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n")
    rest = lines.pop()!
    yield* lines
  }
}
