/**
 * What the proxy costs: the time to an answer's first byte, against asking the API itself, for conversations of several
 * sizes that the archive holds; and whether many streams at a time come through whole.
 *
 *   bun bench/proxy.ts [--minutes 1] [--rounds 30]
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join, resolve } from "node:path"
import { parseArgs } from "node:util"
import { FakeTranscript } from "../src/claude/fake/transcript.ts"

const { values } = parseArgs({ options: { minutes: { type: "string" }, rounds: { type: "string" } } })
const ROUNDS = Number(values.rounds ?? 30)
const MINUTES = Number(values.minutes ?? 1)
const STREAMS = 200
const SIZES = [60e3, 500e3, 2.5e6, 10e6]

const BINARY = resolve(import.meta.dir, "../dist/ctxbridge")
const root = mkdtempSync(join(tmpdir(), "ctxbridge-bench-proxy-"))
const env = {
  HOME: root,
  PATH: process.env["PATH"] ?? "",
  CTXBRIDGE_HOME: join(root, "archive"),
  CTXBRIDGE_EMBED: "0",
  CTXBRIDGE_PRUNE_WHEN: "prompt",
}

/** Answers as soon as the whole request is there, and a stream if it is asked for one. */
const api = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  maxRequestBodySize: 1 << 30,
  idleTimeout: 0,
  async fetch(request) {
    const { pathname } = new URL(request.url)
    const bytes = (await request.arrayBuffer()).byteLength
    if (!pathname.startsWith("/stream/")) return new Response(String(bytes))
    const name = pathname.slice("/stream/".length)
    const pieces = async function* () {
      const until = performance.now() + MINUTES * 60_000
      for (let n = 0; performance.now() < until; n++) {
        yield `${name} ${n} ${"x".repeat(n % 500)}\n`
        await Bun.sleep(20)
      }
    }
    return new Response(pieces() as unknown as ReadableStream)
  },
})

/** Half of it words, half of it output of tools. */
function conversation(session: string, bytes: number): { transcript: string; body: string } {
  const transcript = new FakeTranscript({ session, cwd: join(root, "project"), version: "2.1.112" })
  const turns = Math.ceil(bytes / 8000)
  for (let n = 0; n < turns; n++) {
    const words = (what: string) => `${what} ${n}: ${"the kiln is warm, and so on, ".repeat(60)}`
    transcript.turn(
      words("prompt"),
      [{ tool: "Bash", input: { command: `echo ${n}` }, output: `${n} ${"output line\n".repeat(330)}` }],
      words("answer"),
    )
  }
  const text = transcript.take()
  const messages = text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line).message)
    .filter((message) => message !== undefined)
    .map(({ role, content }) => ({ role, content }))
  messages.push({ role: "user", content: "and now?" })
  const metadata = { user_id: `user_0_account__session_${session}` }
  return { transcript: text, body: JSON.stringify({ model: "some-model", metadata, messages, stream: true }) }
}

const least = (all: readonly number[]): number => Math.min(...all)
const median = (all: readonly number[]): number => all.toSorted((a, b) => a - b)[all.length >> 1]!

async function firstByte(url: string, body: string): Promise<{ ms: number; arrived: number }> {
  const start = performance.now()
  const answer = await fetch(`${url}/v1/messages`, { method: "POST", body })
  const { value } = await answer.body!.getReader().read()
  return { ms: performance.now() - start, arrived: Number(Buffer.from(value!).toString()) }
}

const session = (n: number): string => `5f0c8f8e-3d0e-4b1e-9f43-6f6f0a0b0c0${n}`
const all = SIZES.map((bytes, n) => conversation(session(n), bytes))
for (const [n, { transcript }] of all.entries()) {
  const file = join(root, ".claude", "projects", "-project", `${session(n)}.jsonl`)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, transcript)
}
try {
  const imported = Bun.spawnSync([BINARY, "import"], { env, stdout: "ignore", stderr: "inherit" })
  if (imported.exitCode !== 0) throw new Error("import failed")
  const url = `http://127.0.0.1:${api.port}`
  const child = Bun.spawn([BINARY, "prune", "proxy", "--json"], {
    env: { ...env, ANTHROPIC_BASE_URL: url },
    stdout: "pipe",
  })
  const out = child.stdout.getReader()
  const proxy = JSON.parse(Buffer.from((await out.read()).value!).toString())["url"] as string
  console.log(
    "request      arrives as   direct        through the proxy   more              at first   (ms to the first byte, minimum / median)",
  )
  for (const { body } of all) {
    const direct: number[] = []
    const through: number[] = []
    const { ms: first, arrived } = await firstByte(proxy, body)
    for (let n = 0; n < ROUNDS; n++) {
      direct.push((await firstByte(url, body)).ms)
      through.push((await firstByte(proxy, body)).ms)
    }
    const told = (times: readonly number[]) => `${least(times).toFixed(1)} / ${median(times).toFixed(1)}`
    console.log(
      `${String(body.length).padStart(10)}   ${String(arrived).padStart(10)}   ${told(direct).padEnd(13)} ${told(through).padEnd(19)} +${(least(through) - least(direct)).toFixed(1)} / +${(median(through) - median(direct)).toFixed(1)}`.padEnd(
        80,
      ) + first.toFixed(0),
    )
  }
  let bytes = 0
  const whole = await Promise.all(
    Array.from({ length: STREAMS }, async (_, n) => {
      const answer = await fetch(`${proxy}/stream/s${n}`, { method: "POST", body: all[0]!.body })
      const text = await answer.text()
      bytes += text.length
      const lines = text.split("\n")
      return lines.pop() === "" && lines.every((line, m) => line === `s${n} ${m} ${"x".repeat(m % 500)}`)
    }),
  )
  const wrong = whole.filter((is) => !is).length
  console.log(
    `${STREAMS} streams at a time for ${MINUTES} min: ${bytes} bytes, ${wrong} with something lost or mixed up`,
  )
  child.kill("SIGINT")
  console.log(
    Buffer.from((await out.read()).value!)
      .toString()
      .trim(),
  )
  if (wrong > 0) process.exitCode = 1
} finally {
  await api.stop(true)
  rmSync(root, { recursive: true, force: true })
}
