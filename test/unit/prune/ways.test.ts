import { describe, expect, test } from "bun:test"
import type { Installed } from "../../../src/claude/install/clients.ts"
import type { ClaudeEnvironment } from "../../../src/claude/settings/read-settings.ts"
import {
  requestPruner,
  requestRefusal,
  sessionNamed,
  upstreamOf,
  upstreamShown,
} from "../../../src/prune/proxy/proxy-server.ts"
import type { WayVerdict } from "../../../src/prune/savings.ts"
import {
  addNative,
  clearsResults,
  EXTRA_BODY,
  type NativeWish,
  nativeWay,
  removeNative,
  withClearing,
  withoutClearing,
} from "../../../src/prune/set-native.ts"
import { WAYS, type WayName, type WayState } from "../../../src/prune/way.ts"
import { PRUNE_WAYS, pickWay } from "../../../src/prune/ways.ts"

/** Which ways work for which program, and which of them is recommended. */
describe("ways", () => {
  const client = (version: string | undefined): Installed => ({
    path: "/bin/claude",
    file: "/bin/claude",
    kind: "native",
    version,
  })

  const NOTHING: ClaudeEnvironment = { names: new Set(), extraBody: [], baseUrl: [] }
  const CLEARS = JSON.stringify({ context_management: { edits: [{ type: "clear_tool_uses_20250919" }] } })

  test("the four are described in the order of their risk", () => {
    expect(PRUNE_WAYS.map(({ name }) => name)).toEqual([...WAYS])
  })

  test("native works from the version that asks for the beta in all requests, unless something keeps it from that", () => {
    const works = (version: string | undefined, ...names: string[]): boolean =>
      nativeWay(client(version), { ...NOTHING, names: new Set(names) }).unsupported === undefined
    expect(["2.0.76", "2.1.111", "2.1.112", "2.1.330", "3.0.0", undefined].map((one) => works(one))).toEqual([
      false,
      false,
      true,
      true,
      true,
      false,
    ])
    for (const name of ["CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS", "CLAUDE_CODE_USE_VERTEX"])
      expect(works("2.1.330", name)).toBe(false)
    expect(works("2.1.330", "ANTHROPIC_BASE_URL")).toBe(true)
  })

  test("native is on where the value that counts clears", () => {
    const state = (...extraBody: ClaudeEnvironment["extraBody"]): WayState =>
      nativeWay(client("2.1.330"), { ...NOTHING, extraBody })
    const shell = { from: "environment", value: CLEARS } as const
    const other = { from: "local", value: "{}" } as const
    expect(state()).toEqual({ way: "native", isActive: false })
    expect(state(shell)).toMatchObject({ isActive: true, detail: "set in the environment" })
    expect(state(other, shell)).toMatchObject({
      isActive: false,
      detail: expect.stringContaining("but the local"),
    })
    expect(state({ from: "user", value: "{not json" })).toEqual({ way: "native", isActive: false })
  })

  const verdicts = (...paying: WayName[]): WayVerdict[] =>
    WAYS.map((way) => {
      const pays = paying.includes(way)
      return { way, median: 1, worst: 1, cheaper: 0, dearer: 0, from: undefined, pays }
    })

  test("the first way that works and pays is picked, with why the safer ones are not", () => {
    const ways = (...without: WayName[]): WayState[] =>
      WAYS.map((way) => ({
        way,
        isActive: false,
        ...(without.includes(way) ? { unsupported: `no ${way}` } : {}),
      }))
    expect(pickWay({ ways: ways() }, verdicts(...WAYS))).toEqual({
      way: "native",
      isActive: false,
      passed: [],
    })
    expect(pickWay({ ways: ways("native") }, verdicts("native", "proxy", "patch"))).toEqual({
      way: "proxy",
      isActive: false,
      passed: [
        { way: "native", why: "no native" },
        { way: "plugin", why: "it would not have paid" },
      ],
    })
    expect(pickWay({ ways: ways(...WAYS) }, verdicts(...WAYS))).toBeUndefined()
    expect(pickWay({ ways: ways() }, verdicts())).toBeUndefined()
    expect(pickWay({ ways: ways() }, [])).toBeUndefined()
  })
})

/** What `prune native` writes into Claude Code's settings, and that nothing of the user's is lost in it. */
describe("native edit", () => {
  const CLEARING = { trigger: 50_000, keep: 10, atLeast: 20_000 }
  const WISH: NativeWish = { clearing: CLEARING, window: undefined, percent: undefined }
  const EDIT = {
    type: "clear_tool_uses_20250919",
    trigger: { type: "input_tokens", value: 50_000 },
    keep: { type: "tool_uses", value: 10 },
    clear_at_least: { type: "input_tokens", value: 20_000 },
  }

  // biome-ignore lint/suspicious/noExplicitAny: a test says what it expects of it
  const bodyIn = (text: string): any => JSON.parse(JSON.parse(text).env[EXTRA_BODY])

  const settings = (body: unknown, env: object = {}): string =>
    `${JSON.stringify({ model: "opus", env: { ...env, [EXTRA_BODY]: typeof body === "string" ? body : JSON.stringify(body) } }, null, 2)}\n`

  /** Added to a text and removed again, with the text before it known. */
  function expectInverse(before: string, wish = WISH): string {
    const { text } = addNative(before, before, wish)
    expect(removeNative(text, before).text).toBe(before)
    return text
  }

  describe("the value that goes into requests", () => {
    test("stands alone, or behind what the user has there", () => {
      expect(bodyIn(addNative(undefined, "", WISH).text)).toEqual({ context_management: { edits: [EDIT] } })
      const thinking = { type: "clear_thinking_20251015", keep: "all" }
      const theirs = { metadata: { a: 1 }, context_management: { edits: [thinking] } }
      expect(bodyIn(expectInverse(settings(theirs)))).toEqual({
        metadata: { a: 1 },
        context_management: { edits: [thinking, EDIT] },
      })
    })

    test.each([
      ["no env", '{\n  "model": "opus"\n}\n'],
      ["an empty object", "{}"],
      ["an empty env", '{ "env": {} }'],
      ["another variable", '{"env":{"FOO":"1"}}\n'],
      ["tabs", '{\n\t"env": {\n\t\t"FOO": "1"\n\t}\n}'],
      ["a byte order mark", '\uFEFF{\r\n  "env": {\r\n    "FOO": "1"\r\n  }\r\n}\r\n'],
      ["a value with spaces", settings('{ "max_tokens" : 10000000000000000000001 }')],
      ["an empty value", settings("")],
      ["an empty object as value", settings("{}")],
      ["no edits", settings({ context_management: {} })],
      ["empty edits", settings({ context_management: { edits: [] } })],
      ["a value with an escaped slash", '{"env":{"CLAUDE_CODE_EXTRA_BODY":"{\\"a\\":\\"\\u002f\\"}"}}'],
    ])("comes and goes without a trace: %s", (_name, before) => {
      expect(clearsResults(JSON.parse(expectInverse(before).replace("\uFEFF", "")).env[EXTRA_BODY])).toBe(
        true,
      )
    })

    test("a number that a program would round stays as it is", () => {
      expect(addNative(settings('{ "n": 1e400 }'), undefined, WISH).text).toContain("1e400")
    })

    test("the user's own clearing stays, and is never taken for ours", () => {
      const own = settings({ context_management: { edits: [{ type: EDIT.type }] } })
      expect(addNative(own, undefined, WISH)).toEqual({ text: own, added: [], replaced: [] })
      expect(removeNative(own, own)).toEqual({ text: own, removed: [] })
      // Even when nobody knows any more what was there.
      expect(removeNative(own, undefined)).toEqual({ text: own, removed: [] })
    })

    test("other numbers take the place of ours", () => {
      const first = addNative("{}", "{}", WISH).text
      const next = addNative(first, "{}", { ...WISH, clearing: { ...CLEARING, keep: 3 } })
      expect(next).toMatchObject({ added: [], replaced: [EXTRA_BODY] })
      expect(bodyIn(next.text).context_management.edits).toEqual([
        { ...EDIT, keep: { type: "tool_uses", value: 3 } },
      ])
      expect(removeNative(next.text, "{}").text).toBe("{}")
      expect(addNative(next.text, "{}", { ...WISH, clearing: { ...CLEARING, keep: 3 } }).text).toBe(next.text)
    })

    test("what the user changed since stays", () => {
      const before = settings({ metadata: { a: 1 } })
      const changed = settings({
        metadata: { a: 2 },
        context_management: {
          edits: [{ type: "compact_x" }, { ...EDIT, keep: { type: "tool_uses", value: 1 } }],
        },
      })
      const { text, removed } = removeNative(changed, before)
      expect(removed).toEqual([EXTRA_BODY])
      expect(bodyIn(text)).toEqual({
        metadata: { a: 2 },
        context_management: { edits: [{ type: "compact_x" }] },
      })
    })

    test("without a record, only what has our form goes", () => {
      const { text } = addNative('{"env":{"FOO":"1"}}', undefined, WISH)
      expect(removeNative(text, undefined).text).toBe('{"env":{"FOO":"1"}}')
      expect(removeNative(addNative("{}", undefined, WISH).text, undefined).text).toBe("{}")
    })

    test.each([
      "{not json",
      "[]",
      '"text"',
      '{"context_management":[]}',
      '{"context_management":{"edits":{}}}',
    ])("one that cannot be read is refused: %s", (value) => {
      for (const act of [
        () => addNative(settings(value), undefined, WISH),
        () => withoutClearing(value, undefined),
      ])
        expect(act).toThrow(expect.objectContaining({ code: "settings-shape" }))
      expect(clearsResults(value)).toBe(false)
    })

    test("is text that a JSON parser reads", () => {
      expect(JSON.parse(withClearing("", CLEARING))).toEqual({ context_management: { edits: [EDIT] } })
    })
  })

  describe("window and percentage", () => {
    const asked = { clearing: undefined, window: 150_000, percent: 60 }

    test("are set as asked for, and nothing else", () => {
      const text = expectInverse('{"env":{"FOO":"1"}}', asked)
      expect(JSON.parse(text).env).toEqual({
        FOO: "1",
        CLAUDE_CODE_AUTO_COMPACT_WINDOW: "150000",
        CLAUDE_AUTOCOMPACT_PCT_OVERRIDE: "60",
      })
    })

    test("a value of the user's is not changed", () => {
      const before = '{"env":{"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE":"50"}}'
      expect(() => addNative(before, undefined, asked)).toThrow(
        expect.objectContaining({
          code: "settings-taken",
          message: expect.stringContaining("is 50, set by you"),
        }),
      )
      const same = addNative(before, before, { ...asked, percent: 50 }).text
      expect(removeNative(same, before).text).toBe(before)
    })

    test("another number takes the place of ours", () => {
      const first = addNative("{}", "{}", asked).text
      const next = addNative(first, "{}", { ...asked, percent: 70 })
      expect(next.replaced).toEqual(["CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"])
      expect(removeNative(next.text, "{}").text).toBe("{}")
    })

    test("a variable of another type is refused", () => {
      expect(() => addNative('{"env":{"CLAUDE_CODE_EXTRA_BODY":{}}}', undefined, WISH)).toThrow(
        "must be a string",
      )
      expect(() => addNative('{"env":[]}', undefined, WISH)).toThrow("env must be an object")
    })
  })
})

/** The pure parts of the proxy: whose request it is, where it goes, and what of it is pruned. */
describe("proxy parts", () => {
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
        content: [
          { type: "text", text: long(n), ...(n === mark && { cache_control: { type: "ephemeral" } }) },
        ],
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
      const { text, saved } = pruner().prune(sent, null, 0)!
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
      const first = JSON.parse(one.prune(body(messages(9, 8)), null, 0)!.text).messages
      const second = JSON.parse(one.prune(body(messages(10, 9)), null, 0)!.text).messages
      expect(JSON.stringify(second.slice(0, 8))).toBe(JSON.stringify(first.slice(0, 8)))
    })

    test("is sent as it came if it is short, nobody's, of another shape, or not archived", () => {
      const asked: string[] = []
      expect(pruner("ctx:abc123", asked).prune(body([]), null, 0)).toBeUndefined()
      expect(
        pruner("ctx:abc123", asked).prune(JSON.stringify({ messages: messages(9) }), null, 0),
      ).toBeUndefined()
      expect(pruner("ctx:abc123", asked).prune(body({ "0": long(1).repeat(9) }), null, 0)).toBeUndefined()
      expect(pruner("ctx:abc123", asked).prune(JSON.stringify([body(messages(9))]), null, 0)).toBeUndefined()
      expect(asked).toEqual([])
      expect(
        requestPruner(options, () => ({ refresh() {}, handleOf: () => undefined })).prune(
          body(messages(9)),
          null,
          0,
        ),
      ).toBe(undefined)
    })

    test("of one session says nothing about another's, or about a subagent's", () => {
      const one = pruner()
      expect(one.prune(body(messages(9)), null, 0)).toBeDefined()
      const other = [{ role: "user", content: `another: ${long(7)}${long(8)}` }]
      expect(one.prune(body(other), null, 0)).toBeUndefined()
    })

    describe("after a pause", () => {
      const MINUTE = 60_000
      const late = { ...options, afterPause: true }
      const SYSTEM = { system: "s".repeat(1_000) }
      /** How much is pruned of requests at these minutes, each two messages longer, the first so many long. */
      const prunedAt = (
        minutes: readonly (number | undefined)[],
        first = 1,
        more: object = SYSTEM,
      ): number[] => {
        const one = requestPruner(late, () => ({ refresh() {}, handleOf: () => "ctx:abc123" }))
        return minutes.map((minute, n) => {
          const asked = minute === undefined ? undefined : minute * MINUTE
          const { text } = one.prune(body(messages(first + 2 * n), more), null, asked) ?? { text: "" }
          return text.split("[earlier context pruned]").length - 1
        })
      }

      test("of five minutes more is pruned, and between two pauses what was pruned stays", () => {
        expect(prunedAt([0, 1, 2, 3])).toEqual([0, 0, 0, 0])
        expect(prunedAt([0, 1, 5, 10, 11, 15, 20])).toEqual([0, 0, 0, 6, 6, 6, 12])
      })

      test("of an hour, if the request says so", () => {
        const system = [{ type: "text", text: "s".repeat(1_000), cache_control: { ttl: "1h" } }]
        expect(prunedAt([0, 6, 65, 126], 1, { system })).toEqual([0, 0, 0, 6])
        expect(prunedAt([0, 6], 1, { system: `${"s".repeat(1_000)} It says {"ttl":"1h"}.` })).toEqual([0, 2])
      })

      test("does not count if only tokens were counted since", () => {
        expect(prunedAt([0, undefined, 6])).toEqual([0, 0, 4])
        expect(prunedAt([0, 4, undefined, 8])).toEqual([0, 0, 0, 0])
      })

      test("is not waited for in a conversation that another proxy may have pruned", () => {
        expect(prunedAt([0, 1, 2, 8], 9)).toEqual([8, 8, 8, 14])
      })
    })
  })
})
