/**
 * Stands between Claude Code and the API, on the loopback interface alone, and prunes what is asked of the model. All else
 * goes through as it is, in both directions. Nothing of a request, a header or an answer is kept.
 */

import { CtxError, codeOf, messageOf, usageError } from "../../base/errors.ts"
import { parseJson } from "../../base/json-files.ts"
import { isObject, stringOf } from "../../record/json.ts"
import { type PrunedConversation, prunedConversation, type VaultAnswers } from "../held-blocks.ts"
import { blocksIn, type PruneOptions } from "../prune-messages.ts"
import { cacheLifetime } from "../way.ts"

const HOST = "127.0.0.1"

/** Where messages are sent to a model, or counted as if they were. */
const COUNTED = "/v1/messages/count_tokens"
const PRUNED_PATHS = new Set(["/v1/messages", COUNTED])

/** Bytes of the largest body that is pruned: the API takes no larger one (413). Others are passed on as they come. */
const LARGEST = 32 << 20
/** Before a body with more bytes, garbage is collected. */
const LARGE = 16 << 20
/** Bytes of all bodies that are held at once. A body takes several times its size while it is pruned, one at a time. */
const MOST_HELD = 64 << 20

/** ms that a request waits for room. One whose sender stalls keeps its own; others are then passed on as they come. */
const PATIENCE = 10_000

/** They are about one connection, and there are two (RFC 9110, 7.6.1). */
const OF_CONNECTION = [
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]

interface ProxyOptions {
  /** Without a slash at the end. */
  readonly upstream: string
  /** 0: any free one. */
  readonly port: number
  readonly pruner: RequestPruner
}

/** What it has done so far. */
export interface ProxyCounts {
  /** Requests to a model, counts of tokens included. */
  requests: number
  pruned: number
  /** UTF-16 units of JSON. */
  saved: number
}

export interface PruningProxy {
  /** For ANTHROPIC_BASE_URL. */
  readonly url: string
  readonly counts: Readonly<ProxyCounts>
  stop(): Promise<void>
}

export function startProxy({ upstream, port, pruner }: ProxyOptions): PruningProxy {
  const counts: ProxyCounts = { requests: 0, pruned: 0, saved: 0 }

  /** What to send instead of a body; the same bytes if there is any doubt. */
  function pruned(bytes: ArrayBuffer, request: Request, asked: number | undefined): ArrayBuffer | string {
    try {
      // What the one before has left would otherwise stay beside it.
      if (bytes.byteLength > LARGE) Bun.gc(true)
      const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes)
      const left = pruner.prune(text, request.headers.get("x-claude-code-session-id"), asked)
      if (left === undefined) return bytes
      counts.pruned++
      counts.saved += left.saved
      return left.text
    } catch {
      return bytes
    }
  }

  const room = new Room(MOST_HELD)

  async function forwarded(request: Request): Promise<Response> {
    const { pathname, search } = new URL(request.url)
    const send = (body: ReadableStream | ArrayBuffer | string | null): Promise<Response> =>
      fetch(upstream + pathname + search, {
        method: request.method,
        headers: withoutConnection(request.headers, "host", "content-length"),
        body,
        redirect: "manual",
        decompress: false,
        signal: request.signal,
        timeout: false,
      } as RequestInit)
    if (request.method !== "POST" || !PRUNED_PATHS.has(pathname)) return handedOn(await send(request.body))
    counts.requests++
    const length = Number(request.headers.get("content-length") ?? LARGEST)
    const isPlain = request.headers.get("content-encoding") === null
    if (!isPlain || !(length <= LARGEST)) return handedOn(await send(request.body))
    // Who waits here has not been read from: the sender keeps its body. Nobody waits without a reason, since a body that
    // is asked for at once comes faster.
    const asked = pathname === COUNTED ? undefined : Date.now()
    if (!room.take(length) && !(await room.wait(length))) return handedOn(await send(request.body))
    try {
      const isMeasured = request.headers.has("content-length")
      const body = isMeasured ? await request.arrayBuffer() : await upToLargest(request.body)
      return handedOn(await send(body instanceof ReadableStream ? body : pruned(body, request, asked)))
    } finally {
      room.giveBack(length)
    }
  }

  function handedOn(answer: Response): Response {
    return new Response(answer.body && passedOn(answer.body), {
      status: answer.status,
      statusText: answer.statusText,
      headers: withoutConnection(answer.headers),
    })
  }

  const server = serve(port, async (request) => {
    const refusal = requestRefusal(request, server.port!)
    if (refusal !== undefined) return refused(refusal)
    try {
      return await forwarded(request)
    } catch (error) {
      return unreachable(upstream, error)
    }
  })
  return {
    url: `http://${HOST}:${server.port}`,
    counts,
    stop: () => server.stop(true),
  }
}

/** Room for bodies. Whoever came first gets it first. */
class Room {
  #free: number
  readonly #waiting: { readonly bytes: number; readonly go: () => void }[] = []

  constructor(bytes: number) {
    this.#free = bytes
  }

  /** @returns whether there was room at once */
  take(bytes: number): boolean {
    if (this.#waiting.length > 0 || bytes > this.#free) return false
    this.#free -= bytes
    return true
  }

  /** @returns whether there was room, after a while */
  wait(bytes: number): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const one = { bytes, go: () => resolve(true) }
    this.#waiting.push(one)
    const timer = setTimeout(() => {
      this.#waiting.splice(this.#waiting.indexOf(one), 1)
      resolve(false)
      this.#letIn()
    }, PATIENCE)
    timer.unref()
    return promise.finally(() => clearTimeout(timer))
  }

  giveBack(bytes: number): void {
    this.#free += bytes
    this.#letIn()
  }

  #letIn(): void {
    for (
      let next = this.#waiting[0];
      next !== undefined && next.bytes <= this.#free;
      next = this.#waiting[0]
    ) {
      this.#waiting.shift()
      this.#free -= next.bytes
      next.go()
    }
  }
}

/** The body; as a stream if it turns out larger than any that is pruned. */
async function upToLargest(
  body: ReadableStream<Uint8Array> | null,
): Promise<ArrayBuffer | ReadableStream<Uint8Array>> {
  const chunks: Uint8Array[] = []
  if (body === null) return new ArrayBuffer(0)
  const reader: BodyReader = body.getReader()
  for (let length = 0; length <= LARGEST; ) {
    const { value } = await reader.read()
    if (value === undefined) return Bun.concatArrayBuffers(chunks)
    chunks.push(value)
    length += value.length
  }
  return followedBy(chunks, reader)
}

interface BodyReader {
  read(): Promise<{ readonly value?: Uint8Array | undefined }>
  cancel(reason?: unknown): Promise<void>
}

const followedBy = (chunks: Uint8Array[], rest: BodyReader): ReadableStream<Uint8Array> =>
  new ReadableStream<Uint8Array>({
    async pull(controller) {
      const value = chunks.shift() ?? (await rest.read()).value
      if (value === undefined) controller.close()
      else controller.enqueue(value)
    },
    cancel: (reason) => rest.cancel(reason),
  })

function serve(port: number, fetch: (request: Request) => Promise<Response>): Bun.Server<undefined> {
  try {
    // No limits of our own: a model may think for minutes before it says a word.
    return Bun.serve({ hostname: HOST, port, idleTimeout: 0, maxRequestBodySize: 1 << 30, fetch })
  } catch (cause) {
    if (codeOf(cause) !== "EADDRINUSE") throw cause
    throw new CtxError("port-in-use", `port ${port} is in use`, {
      hint: "another --port, or none for any free one",
      cause,
    })
  }
}

/** Chunk by chunk. If the API breaks off, so does this. Bun would print an error's text to our terminal: none is given. */
function passedOn(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await reader.read()
        if (done) controller.close()
        else controller.enqueue(value)
      } catch {
        controller.error()
      }
    },
    cancel: (reason) => reader.cancel(reason),
  })
}

function withoutConnection(headers: Headers, ...also: string[]): Headers {
  const kept = new Headers(headers)
  const named = headers.get("connection")?.split(",") ?? []
  for (const name of [...OF_CONNECTION, ...named, ...also]) kept.delete(name.trim())
  return kept
}

/** As the API words its errors, so that Claude Code tells the user and tries again. */
function unreachable(upstream: string, error: unknown): Response {
  const message = `${upstreamShown(upstream)} cannot be reached: ${messageOf(error)}`
  return errorOf("api_error", message, 502)
}

const refused = ({ message, status }: Refusal): Response => errorOf("invalid_request_error", message, status)

function errorOf(type: string, text: string, status: number): Response {
  const message = `ctxbridge proxy: ${text}`
  return Response.json({ type: "error", error: { type, message } }, { status })
}

/* Prunes the body of a request, or leaves it as it is: whenever there is a doubt, the bytes that came are sent. */

interface PrunedBody {
  /** What to send. */
  readonly text: string
  /** UTF-16 units of JSON less than what came. */
  readonly saved: number
}

interface RequestPruner {
  /**
   * @param text a request's body
   * @param session what a header says
   * @param asked ms since 1970; undefined: its tokens are counted, which no cache has to do with
   * @returns undefined if it is to be sent as it came
   */
  prune(text: string, session: string | null, asked: number | undefined): PrunedBody | undefined
}

/** Conversations that are remembered: those of the session, its subagents, and what it was before compactions. */
const MOST = 200

interface Conversation {
  readonly pruned: PrunedConversation
  /** When the request before was sent, in ms since 1970. */
  asked: number | undefined
  /**
   * Whether all of its thoughts followed what was sent from here. Else another proxy may have pruned it: the API takes
   * none of these thoughts until a cut has left them out, whatever that costs.
   */
  isOurs: boolean
}

/** How a request says that what it has is to stay in the cache for an hour. In a text, the quotes would be escaped. */
const FOR_AN_HOUR = /"ttl"\s*:\s*"1h"/

/** @param answersFor what of a session the vault holds */
export function requestPruner(
  options: PruneOptions,
  answersFor: (session: string) => VaultAnswers,
): RequestPruner {
  /** The latest at the end. */
  const conversations = new Map<string, Conversation>()
  const sessions = new Map<string, VaultAnswers>()

  function conversationOf(session: string, messages: readonly unknown[]): Conversation {
    const name = `${session} ${beginning(messages[0])}`
    const answers = latest(sessions, session, () => answersFor(session))
    return latest(conversations, name, () => ({
      pruned: prunedConversation(answers, options),
      asked: undefined,
      isOurs: !messages.some((message) => isObject(message) && message["role"] === "assistant"),
    }))
  }

  return {
    prune(text, header, asked) {
      // No conversation that is shorter as a whole can have so much to prune.
      if (text.length < options.threshold) return undefined
      const body: unknown = JSON.parse(text)
      const session = sessionNamed(header, body)
      if (!isObject(body) || session === undefined) return undefined
      const { messages } = body
      if (!Array.isArray(messages)) return undefined
      const conversation = conversationOf(session, messages)
      const isLate =
        asked !== undefined &&
        conversation.asked !== undefined &&
        asked - conversation.asked >= cacheLifetime(FOR_AN_HOUR.test(text))
      conversation.asked = asked ?? conversation.asked
      const moves = options.afterPause !== true || isLate || (asked !== undefined && !conversation.isOurs)
      const pruned = conversation.pruned.prune(messages, moves)
      if (moves && pruned !== messages) conversation.isOurs = true
      if (pruned === messages) return undefined
      const left = JSON.stringify({ ...body, messages: pruned })
      return { text: left, saved: text.length - left.length }
    },
  }
}

/** What tells conversations of a session apart: each begins with something else. */
function beginning(message: unknown): string {
  if (!isObject(message)) return ""
  const blocks = blocksIn(message["content"]).map((block) =>
    isObject(block) ? { ...block, cache_control: undefined } : block,
  )
  return String(Bun.hash.xxHash64(JSON.stringify([message["role"], blocks])))
}

function latest<T>(all: Map<string, T>, name: string, make: () => T): T {
  const value = all.get(name) ?? make()
  all.delete(name)
  all.set(name, value)
  for (const oldest of all.keys()) {
    if (all.size <= MOST) break
    all.delete(oldest)
  }
  return value
}

/* Which session a request belongs to, as Claude Code says it. Pure. */

const UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
const IS_UUID = new RegExp(`^${UUID}$`, "i")
const IN_USER = new RegExp(`_session_(${UUID})$`, "i")

/** Newer clients send a header; all have it in `metadata.user_id`, at the end of a text or within JSON. */
export function sessionNamed(header: string | null, body: unknown): string | undefined {
  if (header !== null && IS_UUID.test(header)) return header
  const metadata = isObject(body) ? body["metadata"] : undefined
  const user = isObject(metadata) ? stringOf(metadata["user_id"]) : undefined
  if (user === undefined) return undefined
  const told = parseJson(user)
  const session = isObject(told) ? stringOf(told["session_id"]) : IN_USER.exec(user)?.[1]
  return session !== undefined && IS_UUID.test(session) ? session : undefined
}

/* Whose requests the proxy takes, and where it sends them. Pure. */

const ANTHROPIC = "https://api.anthropic.com"

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/

/**
 * @param named a base URL that was set for Claude Code; undefined: Anthropic's own
 * @returns without a slash at the end
 * @throws CtxError exit 64 if it is no URL, or one over which a key would be sent in the clear
 */
export function upstreamOf(named: string | undefined): string {
  if (named === undefined || named === "") return ANTHROPIC
  const url = URL.parse(named)
  if (url === null || !/^https?:$/.test(url.protocol))
    throw usageError(
      `not a URL to send requests to: ${upstreamShown(named)}`,
      "ANTHROPIC_BASE_URL, such as https://api.anthropic.com",
    )
  if (url.protocol === "http:" && !isLoopback(url))
    throw usageError(
      `${url.origin} is not encrypted, and requests hold your key`,
      "an ANTHROPIC_BASE_URL that begins with https://",
    )
  return url.href.replace(/\/+$/, "")
}

/** An address for people and logs: without user and password, and without what may be a key behind its path. */
export function upstreamShown(address: string): string {
  const url = URL.parse(address)
  if (url !== null && /^https?:$/.test(url.protocol) && !url.pathname.includes("@"))
    return url.origin + url.pathname.replace(/\/+$/, "")
  // An unescaped slash in a password makes what follows it a path.
  return address.replace(/[?#].*$/s, "").replace(/^([a-z][a-z\d+.-]*:\/*)?.*@/is, "$1…@")
}

/** Why a request is not sent on. */
interface Refusal {
  readonly status: number
  readonly message: string
}

/**
 * The user's credentials go with every request, so only programs on this machine that mean the proxy may send any. A page
 * in a browser is none, under whatever name it has found us: it says where it comes from, or names another host than ours.
 */
export function requestRefusal({ method, url, headers }: Request, port: number): Refusal | undefined {
  const there = URL.parse(url)
  if (method === "CONNECT" || method === "TRACE")
    return { status: 405, message: `${method} is not passed on` }
  if (there?.protocol !== "http:" || there.username !== "" || there.password !== "")
    return { status: 400, message: "the request names no path of the API" }
  if (!isOurName(headers.get("host"), port) || !isOurName(there.host, port))
    return { status: 421, message: `requests are taken for 127.0.0.1:${port} and localhost:${port} only` }
  if (headers.has("origin") || headers.has("sec-fetch-site"))
    return { status: 403, message: "requests of pages in a browser are not passed on" }
  return undefined
}

function isOurName(host: string | null, port: number): boolean {
  const [, name, at = "80"] = /^(localhost|127\.0\.0\.1|\[::1\])(?::(\d{1,5}))?$/i.exec(host ?? "") ?? []
  return name !== undefined && Number(at) === port
}

export const isLoopback = ({ hostname }: URL): boolean => LOOPBACK.test(hostname)
