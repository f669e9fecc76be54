/** The pure parts of the proxy: whose request it is, where it goes, and what of it is pruned. */
import { describe, expect, test } from "bun:test"
import {
  requestPruner,
  requestRefusal,
  sessionNamed,
  upstreamOf,
  upstreamShown,
} from "../../../src/prune/proxy/proxy-server.ts"

const SESSION = "5f0c8f8e-3d0e-4b1e-9f43-6f6f0a0b0c0d"

describe("the session of a request", () => {
  test.each([
    [SESSION, {}, SESSION],
    [null, { metadata: { user_id: `user_ab12_account__session_${SESSION}` } }, SESSION],
    [null, { metadata: { user_id: JSON.stringify({ device_id: "ab", session_id: SESSION }) } }, SESSION],
    ["../../etc/passwd", {}, undefined],
    [null, { metadata: { user_id: '{"session_id": "../../etc"}' } }, undefined],
    [null, { metadata: { user_id: "somebody" } }, undefined],
    [null, { metadata: { user_id: 7 } }, undefined],
    [null, { metadata: null }, undefined],
    [null, [], undefined],
    [null, null, undefined],
  ])("header %p, body %p: %p", (header, body, session) => {
    expect(sessionNamed(header, body)).toBe(session)
  })
})

describe("where requests are sent", () => {
  test.each([
    [undefined, "https://api.anthropic.com"],
    ["", "https://api.anthropic.com"],
    ["https://gateway.example.com/anthropic/", "https://gateway.example.com/anthropic"],
    ["http://127.0.0.1:8080", "http://127.0.0.1:8080"],
    ["http://localhost:8080/", "http://localhost:8080"],
    ["http://[::1]:8080", "http://[::1]:8080"],
  ])("%p: %p", (named, url) => {
    expect(upstreamOf(named)).toBe(url)
  })

  test.each([
    "http://gateway.example.com",
    "http://localhost.example.com",
    "ftp://127.0.0.1",
    "api.anthropic.com",
    "//x",
  ])("never %p", (named) => {
    expect(() => upstreamOf(named)).toThrow()
  })
})

describe("an address for people", () => {
  test.each([
    ["http://127.0.0.1:8080", "http://127.0.0.1:8080"],
    ["https://gateway.example.com/anthropic/", "https://gateway.example.com/anthropic"],
    ["https://me:s3cretWord@gateway.example.com/anthropic", "https://gateway.example.com/anthropic"],
    ["https://s3cretWord@gateway.example.com", "https://gateway.example.com"],
    ["https://gateway.example.com/v1?key=s3cretWord", "https://gateway.example.com/v1"],
    ["https://gateway.example.com/v1#s3cretWord", "https://gateway.example.com/v1"],
    ["https://me:s3cret/s3cretWord@gateway.example.com/a", "https://…@gateway.example.com/a"],
    ["https://me:12/s3cretWord@gateway.example.com", "https://…@gateway.example.com"],
    ["htp:/me:s3cretWord@gateway.example.com", "htp:/…@gateway.example.com"],
    ["me:s3cretWord@gateway.example.com", "me:…@gateway.example.com"],
    ["nonsense", "nonsense"],
  ])("%p: %p", (address, shown) => {
    expect(upstreamShown(address)).toBe(shown)
    for (const make of [upstreamOf, (one: string) => upstreamOf(one.replace(/^https?:/, "ftp:"))]) {
      try {
        make(address)
      } catch (error) {
        expect(String(error)).not.toContain("s3cretWord")
      }
    }
  })
})

describe("whose requests are sent on", () => {
  const asked = (url: string, headers: Record<string, string>, method = "GET") =>
    requestRefusal({ url, method, headers: new Headers(headers) } as Request, 8484)?.status

  test.each([["127.0.0.1:8484"], ["localhost:8484"], ["LOCALHOST:8484"], ["[::1]:8484"]])(
    "those to %p",
    (host) => {
      expect(asked(`http://${host}/v1/messages?beta=true`, { host })).toBeUndefined()
      // What the runtime's own client sends, with which Claude Code asks.
      expect(asked(`http://${host}/`, { host, "sec-fetch-mode": "cors" }, "POST")).toBeUndefined()
    },
  )

  test.each([
    "evil.example",
    "evil.example:8484",
    "127.0.0.1",
    "127.0.0.1:80",
    "127.0.0.1:8485",
    "127.0.0.1:8484.evil.example",
    "localhost.evil.example:8484",
    "127.0.0.1.evil.example:8484",
    "me@127.0.0.1:8484",
    "evil.example, 127.0.0.1:8484",
    "127.0.0.1:8484, evil.example",
    "0.0.0.0:8484",
    "[::]:8484",
    "2130706433:8484",
    "",
  ])("none to %p", (host) => {
    expect(asked("http://127.0.0.1:8484/v1/models", { host })).toBe(421)
  })

  test("none without a host, or of another URL than the host says", () => {
    expect(asked("/v1/models", {})).toBe(400)
    expect(asked("http://127.0.0.1:8484/v1/models", {})).toBe(421)
    for (const url of ["http://evil.example/", "http://evil.example:8484/", "http://127.0.0.1:80/"])
      expect([url, asked(url, { host: "127.0.0.1:8484" })]).toEqual([url, 421])
    for (const url of [
      "https://127.0.0.1:8484/",
      "x:@127.0.0.1:8484/",
      "//127.0.0.1:8484/",
      "http://me:word@127.0.0.1:8484/",
      "http://me@127.0.0.1:8484/",
      "file:///etc/passwd",
      "*",
    ])
      expect([url, asked(url, { host: "127.0.0.1:8484" })]).toEqual([url, 400])
  })

  test.each([
    ["origin", "http://evil.example"],
    ["origin", "null"],
    ["origin", "http://127.0.0.1:8484"],
    ["origin", "http://localhost:3000"],
    ["sec-fetch-site", "cross-site"],
    ["sec-fetch-site", "same-origin"],
  ])("none of a page in a browser: %s: %s", (name, value) => {
    expect(asked("http://127.0.0.1:8484/v1/models", { host: "127.0.0.1:8484", [name]: value })).toBe(403)
  })

  test.each(["CONNECT", "TRACE"])("none with %s", (method) => {
    expect(asked("http://127.0.0.1:8484/", { host: "127.0.0.1:8484" }, method)).toBe(405)
  })
})

describe("a body", () => {
  const options = { keep: 1, threshold: 500, step: 100, maxChars: 20, results: false }
  const long = (n: number) => `${n} ${"and so on, ".repeat(30)}`
  const messages = (count: number, mark?: number) =>
    Array.from({ length: count }, (_, n) => ({
      role: n % 2 === 0 ? "user" : "assistant",
      content: [{ type: "text", text: long(n), ...(n === mark && { cache_control: { type: "ephemeral" } }) }],
    }))
  const body = (list: unknown, more: object = {}) =>
    JSON.stringify({ model: "m", metadata: { user_id: `_session_${SESSION}` }, messages: list, ...more })
  const pruner = (handle: string | undefined = "ctx:abc123", asked: string[] = []) =>
    requestPruner(options, (session) => {
      asked.push(session)
      return { refresh() {}, handleOf: () => handle }
    })

  test("differs in its messages alone, by what is said to be saved", () => {
    const sent = body(messages(9), { system: "be brief", "a field": { of: "the future" } })
    const { text, saved } = pruner().prune(sent, null)!
    expect(saved).toBe(sent.length - text.length)
    const { messages: left, ...rest } = JSON.parse(text)
    const { messages: _, ...before } = JSON.parse(sent)
    expect(rest).toEqual(before)
    expect(Object.keys(JSON.parse(text))).toEqual(Object.keys(JSON.parse(sent)))
    expect(left).toHaveLength(9)
    expect(left[0].content[0].text).toBe(
      `${long(0).slice(0, 20).trimEnd()}\nctx:abc123 [earlier context pruned]`,
    )
    expect(left.at(-1)).toEqual(messages(9).at(-1))
  })

  test("begins as the one before, wherever the marks for the cache are", () => {
    const one = pruner()
    const first = JSON.parse(one.prune(body(messages(9, 8)), null)!.text).messages
    const second = JSON.parse(one.prune(body(messages(10, 9)), null)!.text).messages
    expect(JSON.stringify(second.slice(0, 8))).toBe(JSON.stringify(first.slice(0, 8)))
  })

  test("is sent as it came if it is short, nobody's, of another shape, or not archived", () => {
    const asked: string[] = []
    expect(pruner("ctx:abc123", asked).prune(body([]), null)).toBeUndefined()
    expect(pruner("ctx:abc123", asked).prune(JSON.stringify({ messages: messages(9) }), null)).toBeUndefined()
    expect(pruner("ctx:abc123", asked).prune(body({ "0": long(1).repeat(9) }), null)).toBeUndefined()
    expect(pruner("ctx:abc123", asked).prune(JSON.stringify([body(messages(9))]), null)).toBeUndefined()
    expect(asked).toEqual([])
    expect(
      requestPruner(options, () => ({ refresh() {}, handleOf: () => undefined })).prune(
        body(messages(9)),
        null,
      ),
    ).toBe(undefined)
  })

  test("of one session says nothing about another's, or about a subagent's", () => {
    const one = pruner()
    expect(one.prune(body(messages(9)), null)).toBeDefined()
    const other = [{ role: "user", content: `another: ${long(7)}${long(8)}` }]
    expect(one.prune(body(other), null)).toBeUndefined()
  })
})
