/** What goes through the proxy of the compiled binary, in both directions, and what is left of it. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs"
import { connect, createServer, type Server, type Socket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { run } from "../support/binary.ts"
import { listening } from "../support/proxy.ts"

const KEY = "sk-ant-planted-in-a-header-0123456789"
const PLANTED = "planted in a body, which nobody may keep"
const SESSION = "5f0c8f8e-3d0e-4b1e-9f43-6f6f0a0b0c0d"

let root: string
let env: Record<string, string>

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "ctxbridge-proxy-"))
  mkdirSync(join(root, "tmp"))
  env = {
    HOME: root,
    PATH: process.env["PATH"] ?? "",
    TMPDIR: join(root, "tmp"),
    CTXBRIDGE_HOME: join(root, "archive"),
  }
})
afterAll(() => rmSync(root, { recursive: true, force: true }))

/** What arrived at the API. */
interface Arrived {
  readonly method: string
  readonly path: string
  readonly headers: Headers
  readonly body: string
}

interface Api extends AsyncDisposable {
  readonly url: string
  readonly arrived: Arrived[]
}

function api(answer: (arrived: Arrived) => Response | Promise<Response>): Api {
  const arrived: Arrived[] = []
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      const { pathname, search } = new URL(request.url)
      const one = {
        method: request.method,
        path: pathname + search,
        headers: request.headers,
        body: await request.text(),
      }
      arrived.push(one)
      return answer(one)
    },
  })
  return {
    url: `http://127.0.0.1:${server.port}`,
    arrived,
    async [Symbol.asyncDispose]() {
      await server.stop(true)
    },
  }
}

const proxyTo = (url: string) => listening(["prune", "proxy", "--json"], { ...env, ANTHROPIC_BASE_URL: url })

const post = (url: string, body: string | Uint8Array, headers: Record<string, string> = {}) =>
  fetch(`${url}/v1/messages?beta=true`, {
    method: "POST",
    body,
    headers: { "content-type": "application/json", "x-api-key": KEY, ...headers },
    decompress: false,
  } as RequestInit)

/** More than enough to be pruned, if the vault held any of it. */
const LONG = JSON.stringify({
  model: "some-model",
  metadata: { user_id: `user_0_account__session_${SESSION}` },
  messages: Array.from({ length: 60 }, (_, n) => ({
    role: n % 2 === 0 ? "user" : "assistant",
    content: `${n} ${PLANTED} ${"and so on, ".repeat(300)}`,
  })),
  unknown: { "a field": "of the future" },
})

describe("a request", () => {
  test("arrives as it was sent if nothing of it is archived, with its credentials and headers", async () => {
    await using there = api(() => Response.json({ ok: true }, { headers: { "request-id": "req_1" } }))
    await using proxy = await proxyTo(there.url)
    const answer = await post(proxy.url, LONG, {
      authorization: "Bearer of-a-login",
      "anthropic-beta": "one,two",
    })
    expect(answer.headers.get("request-id")).toBe("req_1")
    expect(await answer.json()).toEqual({ ok: true })
    const [arrived] = there.arrived
    expect(arrived!.body).toBe(LONG)
    expect(arrived!.path).toBe("/v1/messages?beta=true")
    const { headers } = arrived!
    expect(headers.get("x-api-key")).toBe(KEY)
    expect(headers.get("authorization")).toBe("Bearer of-a-login")
    expect(headers.get("anthropic-beta")).toBe("one,two")
    expect(headers.get("host")).toBe(new URL(there.url).host)
  })

  test("that is none of the messages is not looked at, whatever it is", async () => {
    await using there = api(({ method }) => new Response(method === "HEAD" ? null : "there", { status: 200 }))
    await using proxy = await proxyTo(there.url)
    const odd: [string, string, RequestInit][] = [
      ["HEAD", "/", {}],
      ["GET", "/api/oauth/profile?x=%20y", {}],
      ["DELETE", "/v1/files/1", {}],
      ["POST", "/v1/messages/batches", { body: "not JSON" }],
      ["POST", "/v1/messages", { body: "{ not JSON" }],
      ["POST", "/v1/messages", { body: "" }],
      ["POST", "/v1/messages", { body: new Uint8Array([0xff, 0xfe, 0x00, 0x7b]) }],
      ["POST", "/v1/messages/count_tokens", { body: '{"messages":[null,{"role":7}]}' }],
    ]
    for (const [method, path, init] of odd) {
      const answer = await fetch(proxy.url + path, { method, ...init })
      expect([method, path, answer.status]).toEqual([method, path, 200])
    }
    expect(there.arrived.map(({ method, path }) => [method, path])).toEqual(
      odd.map(([method, path]) => [method, path]),
    )
    expect(there.arrived[4]!.body).toBe("{ not JSON")
  })

  test("that is compressed goes on as it is", async () => {
    await using there = api(({ body }) => Response.json({ length: body.length }))
    await using proxy = await proxyTo(there.url)
    const bytes = Bun.gzipSync(Buffer.from(LONG))
    const answer = await post(proxy.url, bytes, { "content-encoding": "gzip" })
    expect(answer.status).toBe(200)
    expect(there.arrived[0]!.headers.get("content-encoding")).toBe("gzip")
  })
})

describe("an answer", () => {
  test("of an error is the API's own, with its status and headers", async () => {
    const overloaded = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } }
    await using there = api(() => Response.json(overloaded, { status: 529, headers: { "retry-after": "7" } }))
    await using proxy = await proxyTo(there.url)
    const answer = await post(proxy.url, LONG)
    expect(answer.status).toBe(529)
    expect(answer.headers.get("retry-after")).toBe("7")
    expect(await answer.json()).toEqual(overloaded)
  })

  test("that leads elsewhere is not followed", async () => {
    await using there = api(() => Response.redirect("https://example.com/", 307))
    await using proxy = await proxyTo(there.url)
    const answer = await fetch(`${proxy.url}/v1/messages`, { method: "POST", body: LONG, redirect: "manual" })
    expect(answer.status).toBe(307)
    expect(answer.headers.get("location")).toBe("https://example.com/")
    expect(there.arrived).toHaveLength(1)
  })

  test("that is compressed stays so, byte for byte", async () => {
    const zipped = Bun.gzipSync(Buffer.from("an answer, ".repeat(500)))
    await using there = api(() => new Response(zipped, { headers: { "content-encoding": "gzip" } }))
    await using proxy = await proxyTo(there.url)
    const answer = await post(proxy.url, LONG)
    expect(answer.headers.get("content-encoding")).toBe("gzip")
    expect(Buffer.from(await answer.arrayBuffer())).toEqual(Buffer.from(zipped))
  })

  test("comes piece by piece, as it is written", async () => {
    let next: () => void = () => {}
    const wanted = () => new Promise<void>((resolve) => (next = resolve))
    await using there = api(() => {
      const pieces = async function* () {
        for (let n = 0; n < 5; n++) {
          yield `data: ${n}\n\n`
          await wanted()
        }
      }
      return new Response(pieces() as unknown as ReadableStream, {
        headers: { "content-type": "text/event-stream" },
      })
    })
    await using proxy = await proxyTo(there.url)
    const answer = await post(proxy.url, LONG)
    let text = ""
    let count = 0
    // The next piece is only written when the one before has arrived.
    for await (const chunk of answer.body!) {
      text += Buffer.from(chunk as Uint8Array).toString()
      count++
      next()
    }
    expect(text).toBe("data: 0\n\ndata: 1\n\ndata: 2\n\ndata: 3\n\ndata: 4\n\n")
    expect(count).toBe(5)
  })

  test("that breaks off is broken off, with what has come", async () => {
    await using raw = await rawApi((socket) => {
      socket.write("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf of it")
      setTimeout(() => socket.destroy(), 100)
    })
    await using proxy = await proxyTo(raw.url)
    const answer = await post(proxy.url, LONG)
    expect(answer.status).toBe(200)
    let text = ""
    const read = async () => {
      for await (const chunk of answer.body!) text += Buffer.from(chunk as Uint8Array).toString()
    }
    await expect(read()).rejects.toThrow()
    expect(text).toBe("half of it")
    // Nothing is said of it: the proxy may share its terminal with Claude Code.
    await proxy.end()
  })

  test("of none at all is an error in the API's words", async () => {
    await using raw = await rawApi((socket) => socket.resetAndDestroy())
    await using proxy = await proxyTo(raw.url)
    const answer = await post(proxy.url, LONG)
    expect(answer.status).toBe(502)
    const { error } = (await answer.json()) as { error: { type: string; message: string } }
    expect(error.type).toBe("api_error")
    expect(error.message).toStartWith("ctxbridge proxy: http://127.0.0.1:")
    expect(error.message).not.toContain(KEY)
    await proxy.end()
  })

  test("that nobody waits for any more is given up at the API, too", async () => {
    const gone = Promise.withResolvers<void>()
    await using raw = await rawApi((socket) => {
      socket.on("close", () => gone.resolve())
      socket.write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nwait\r\n")
    })
    await using proxy = await proxyTo(raw.url)
    const stop = new AbortController()
    const answer = await fetch(`${proxy.url}/v1/messages`, {
      method: "POST",
      body: LONG,
      signal: stop.signal,
    })
    await answer.body!.getReader().read()
    stop.abort()
    await gone.promise
  })
})

test("answers of 200 requests at a time are not mixed up", async () => {
  await using there = api(({ body }) => {
    const { name } = JSON.parse(body) as { name: string }
    const pieces = async function* () {
      for (let n = 0; n < 20; n++) {
        await Bun.sleep(Math.random() * 20)
        yield `${name} ${n}\n`
      }
    }
    return new Response(pieces() as unknown as ReadableStream)
  })
  await using proxy = await proxyTo(there.url)
  const one = async (n: number) => {
    const name = `request-${n}`
    const answer = await post(proxy.url, JSON.stringify({ name, filler: "x".repeat(n * 1000) }))
    const expected = Array.from({ length: 20 }, (_, m) => `${name} ${m}\n`).join("")
    return (await answer.text()) === expected
  }
  const right = await Promise.all(Array.from({ length: 200 }, (_, n) => one(n)))
  expect(right.filter((is) => !is)).toEqual([])
})

test("nothing of what went through is on disk or was said", async () => {
  await using there = api(() => Response.json({ content: `${PLANTED} in an answer` }))
  await using proxy = await proxyTo(there.url)
  await post(proxy.url, LONG, { authorization: `Bearer ${KEY}` })
  expect(JSON.stringify(await proxy.end())).not.toContain("planted")
  const files = readdirSync(root, { recursive: true, encoding: "utf8" })
    .map((name) => join(root, name))
    .filter((path) => statSync(path).isFile())
  const kept = files.filter((path) => /planted/.test(readFileSync(path, "latin1")))
  expect(kept).toEqual([])
})

/** The first line of an answer to these bytes, as no client of ours would send them. */
function rawly(url: string, bytes: string): Promise<string> {
  const { port } = new URL(url)
  const { promise, resolve } = Promise.withResolvers<string>()
  const socket = connect(Number(port), "127.0.0.1", () => socket.write(bytes))
  let text = ""
  socket.on("data", (some) => (text += some.toString("latin1")))
  socket.on("error", () => {})
  socket.on("close", () => resolve(text.split("\r\n")[0]!))
  return promise
}

describe("what is not the user's own program's", () => {
  const elsewhere = (port: string) => [
    `CONNECT x:@127.0.0.1:${port}/there HTTP/1.1`,
    `CONNECT 127.0.0.1:${port} HTTP/1.1`,
    `CONNECT @127.0.0.1:${port} HTTP/1.1`,
    `CONNECT x:me@127.0.0.1:${port}/there HTTP/1.1`,
    `GET x:@127.0.0.1:${port}/there HTTP/1.1`,
    `GET @127.0.0.1:${port}/there HTTP/1.1`,
    `POST :@127.0.0.1:${port}/there HTTP/1.1`,
    `OPTIONS * HTTP/1.1`,
    `TRACE / HTTP/1.1`,
    `GET there HTTP/1.1`,
  ]

  test("is refused, and reaches neither the API nor anybody else", async () => {
    await using there = api(() => new Response("there"))
    await using other = api(() => new Response("elsewhere"))
    await using proxy = await proxyTo(there.url.replace("//", "//me:s3cretWord@"))
    const own = new URL(proxy.url).host
    const { port } = new URL(other.url)
    const lines = elsewhere(port).map((line) => `${line}\r\nHost: ${own}`)
    const named = [
      `GET http://127.0.0.1:${port}/there HTTP/1.1\r\nHost: 127.0.0.1:${port}`,
      "GET /v1/models HTTP/1.1\r\nHost: evil.example",
      `GET /v1/models HTTP/1.1\r\nHost: evil.example:${new URL(proxy.url).port}`,
      `GET /v1/models HTTP/1.1\r\nHost: evil.example\r\nHost: ${own}`,
      `GET /v1/models HTTP/1.1\r\nHost: ${own}\r\nOrigin: http://evil.example`,
      `OPTIONS /v1/messages HTTP/1.1\r\nHost: ${own}\r\nOrigin: null`,
      `GET /v1/models HTTP/1.1\r\nHost: ${own}\r\nSec-Fetch-Site: cross-site`,
      "GET /v1/models HTTP/1.0",
    ]
    for (const head of [...lines, ...named]) {
      const line = await rawly(proxy.url, `${head}\r\nConnection: close\r\n\r\n`)
      expect([head, line]).toEqual([head, expect.stringMatching(/^HTTP\/1\.1 4\d\d /)])
    }
    expect([there.arrived, other.arrived]).toEqual([[], []])
    // Paths that only look as if they led elsewhere.
    for (const path of [`//127.0.0.1:${port}/x`, `/\\127.0.0.1:${port}/x`, `/..//127.0.0.1:${port}/x`]) {
      const line = await rawly(proxy.url, `GET ${path} HTTP/1.1\r\nHost: ${own}\r\nConnection: close\r\n\r\n`)
      expect([path, line]).toEqual([path, "HTTP/1.1 200 OK"])
    }
    expect([there.arrived.length, other.arrived.length]).toEqual([3, 0])
    // They do go with what is the user's own.
    expect(there.arrived[0]!.headers.get("authorization")).toStartWith("Basic ")
    expect(JSON.stringify(await proxy.end())).not.toContain("s3cretWord")
  })

  test("does not see the password of the API's address, nor does the terminal", async () => {
    await using raw = await rawApi((socket) => socket.resetAndDestroy())
    const address = raw.url.replace("//", "//me:s3cretWord@")
    await using proxy = await proxyTo(address)
    expect(proxy.first).toMatchObject({ event: "listening", upstream: raw.url })
    const answer = await post(proxy.url, LONG)
    expect([answer.status, (await answer.text()).includes("s3cretWord")]).toEqual([502, false])
    await proxy.end()
    for (const wrong of [`ftp://me:s3cretWord@127.0.0.1`, "http://me:s3cretWord@gateway.example.com"]) {
      const { code, stdout, stderr } = await run(["prune", "proxy"], {
        env: { ...env, ANTHROPIC_BASE_URL: wrong },
      })
      expect([code, stdout, stderr.includes("s3cretWord")]).toEqual([64, "", false])
    }
  })
})

test("ten bodies of 100 MB at once, and chunked ones, go on whole and are not held", async () => {
  const lengths: number[] = []
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    maxRequestBodySize: 1 << 30,
    async fetch(request) {
      let length = 0
      for await (const chunk of request.body!) length += (chunk as Uint8Array).length
      lengths.push(length)
      return new Response("there")
    },
  })
  try {
    await using proxy = await proxyTo(`http://127.0.0.1:${server.port}`)
    const before = proxy.memory()
    const whole = Buffer.alloc(100 << 20, 97)
    const piece = whole.subarray(0, 1 << 20)
    const large = async function* () {
      for (let n = 0; n < 100; n++) yield piece
    }
    const one = async (n: number) => {
      const headers = n % 2 === 0 ? {} : { "content-length": String(100 << 20) }
      const answer = await fetch(`${proxy.url}/v1/messages`, {
        method: "POST",
        body: n % 2 === 0 ? (large() as unknown as ReadableStream) : whole,
        headers,
      })
      return [answer.status, await answer.text()]
    }
    const answers = await Promise.all(Array.from({ length: 10 }, (_, n) => one(n)))
    expect(new Set(answers.map(String))).toEqual(new Set(["200,there"]))
    expect(lengths).toEqual(Array.from({ length: 10 }, () => 100 << 20))
    // Of chunked ones, as much is looked at as may be pruned.
    if (before !== undefined) expect(proxy.memory()! - before).toBeLessThan(400)
  } finally {
    await server.stop(true)
  }
})

test("more bodies than are held at once wait for each other", async () => {
  await using there = api(({ body }) => Response.json({ length: body.length }))
  await using proxy = await proxyTo(there.url)
  const body = JSON.stringify({ messages: [], filler: "x".repeat(24 << 20) })
  const answers = await Promise.all(
    Array.from({ length: 8 }, async () => (await post(proxy.url, body)).json()),
  )
  expect(answers).toEqual(answers.map(() => ({ length: body.length })))
})

describe("proxy -- command", () => {
  test("has the command send its requests here, and ends with it and its exit code", async () => {
    await using there = api(() => new Response("from the API"))
    const script = 'curl -s "$ANTHROPIC_BASE_URL/v1/models"; echo; echo "$ANTHROPIC_BASE_URL" >&2; exit 7'
    const curl = Bun.which("curl") === null ? "" : script
    const through = curl || 'echo "from the API"; echo "$ANTHROPIC_BASE_URL" >&2; exit 7'
    const { code, stdout, stderr } = await run(["proxy", "--", "sh", "-c", through], {
      env: { ...env, ANTHROPIC_BASE_URL: there.url },
    })
    expect(stdout).toBe("from the API\n")
    expect(code).toBe(7)
    expect(stderr).toMatch(/^http:\/\/127\.0\.0\.1:\d+\n$/)
    expect(stderr.trim()).not.toBe(there.url)
    // It is gone.
    await expect(fetch(stderr.trim())).rejects.toThrow()
  })

  test("gives on what it is told to end by", async () => {
    const { code } = await run(["proxy", "--", "sh", "-c", "kill -TERM $PPID; exec sleep 20"], { env })
    expect(code).toBe(143)
  })

  test("names a command that is not there", async () => {
    const { code, stdout, stderr } = await run(["proxy", "--", "no-such-program"], { env })
    expect([code, stdout]).toEqual([3, ""])
    expect(stderr).toBe(
      "ctxbridge: no-such-program is not on PATH\nhint: ctxbridge proxy -- /path/to/claude\n",
    )
  })
})

describe("prune proxy refuses", () => {
  test.each([
    [
      "http://proxy.example.com",
      "ctxbridge: http://proxy.example.com is not encrypted, and requests hold your key\n",
    ],
    ["ftp://example.com", "ctxbridge: not a URL to send requests to: ftp://example.com\n"],
    ["nonsense", "ctxbridge: not a URL to send requests to: nonsense\n"],
  ])("to send to %p", async (url, told) => {
    const { code, stdout, stderr } = await run(["prune", "proxy"], {
      env: { ...env, ANTHROPIC_BASE_URL: url },
    })
    expect([code, stdout]).toEqual([64, ""])
    expect(stderr).toStartWith(told)
    expect(stderr.split("\n")).toHaveLength(3)
  })

  test("a port that is taken, and one that is none", async () => {
    await using there = api(() => new Response())
    const { port } = new URL(there.url)
    const taken = await run(["prune", "proxy", "--port", port], { env })
    expect([taken.code, taken.stdout]).toEqual([1, ""])
    expect(taken.stderr).toBe(
      `ctxbridge: port ${port} is in use\nhint: another --port, or none for any free one\n`,
    )
    const none = await run(["prune", "proxy", "--port", "70000"], { env })
    expect([none.code, none.stdout]).toEqual([64, ""])
    expect(none.stderr).toBe('ctxbridge: --port needs a number up to 65535, not "70000"\nhint: --port 8484\n')
  })
})

interface RawApi extends AsyncDisposable {
  readonly url: string
}

/** An API that answers what no server would. @param answer called once a request has begun to arrive */
async function rawApi(answer: (socket: Socket) => void): Promise<RawApi> {
  const server: Server = createServer((socket) => {
    socket.on("error", () => {})
    socket.once("data", () => answer(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  const port = typeof address === "object" ? address?.port : undefined
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
