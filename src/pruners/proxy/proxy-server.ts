/**
 * Stands between Claude Code and the API, on the loopback interface alone, and prunes what is asked of the model. All else
 * goes through as it is, in both directions. Nothing of a request, a header or an answer is kept.
 */
import { CtxError, codeOf, messageOf } from "../../util/errors.ts"
import type { RequestPruner } from "./request-pruner.ts"

const HOST = "127.0.0.1"

/** Where messages are sent to a model, or counted as if they were. */
const PRUNED_PATHS = new Set(["/v1/messages", "/v1/messages/count_tokens"])

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

export interface ProxyOptions {
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
  function pruned(bytes: ArrayBuffer, request: Request): ArrayBuffer | string {
    try {
      const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes)
      const left = pruner.prune(text, request.headers.get("x-claude-code-session-id"))
      if (left === undefined) return bytes
      counts.pruned++
      counts.saved += left.saved
      return left.text
    } catch {
      return bytes
    }
  }

  async function bodyFor(
    request: Request,
    path: string,
  ): Promise<ReadableStream | ArrayBuffer | string | null> {
    if (request.method !== "POST" || !PRUNED_PATHS.has(path)) return request.body
    counts.requests++
    const bytes = await request.arrayBuffer()
    const isPlain = request.headers.get("content-encoding") === null
    return isPlain ? pruned(bytes, request) : bytes
  }

  async function forwarded(request: Request): Promise<Response> {
    const { pathname, search } = new URL(request.url)
    const answer = await fetch(upstream + pathname + search, {
      method: request.method,
      headers: withoutConnection(request.headers, "host", "content-length"),
      body: await bodyFor(request, pathname),
      redirect: "manual",
      decompress: false,
      signal: request.signal,
      timeout: false,
    } as RequestInit)
    return new Response(answer.body && passedOn(answer.body), {
      status: answer.status,
      statusText: answer.statusText,
      headers: withoutConnection(answer.headers),
    })
  }

  const server = serve(port, async (request) => {
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

function serve(port: number, fetch: (request: Request) => Promise<Response>) {
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
  const message = `ctxbridge proxy: ${new URL(upstream).origin} cannot be reached: ${messageOf(error)}`
  return Response.json({ type: "error", error: { type: "api_error", message } }, { status: 502 })
}
