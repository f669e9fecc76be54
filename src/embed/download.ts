/**
 * Uses the network, only for `ctxbridge model install`. Fetches a file of known length; the caller
 * checks the hash.
 */
import { closeSync, openSync, writeSync } from "node:fs"
import { CtxError, messageOf } from "../util/errors.ts"
import { addressShown } from "../util/shown-address.ts"

/** ms without a byte after which the server is considered dead. */
const SILENCE = 30_000

/**
 * @returns undefined for a folder
 * @throws CtxError for an address that must not be used
 */
export function addressOf(text: string): URL | undefined {
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return undefined
  const url = URL.parse(text)
  const isLocal = url?.protocol === "http:" && ["localhost", "127.0.0.1", "[::1]"].includes(url.hostname)
  if (url !== null && (url.protocol === "https:" || isLocal)) return url
  throw new CtxError("bad-address", `not an address to install from: ${addressShown(text)}`, {
    hint: "https://… or a folder",
  })
}

/**
 * @param bytes expected length; a longer file is an error, and the excess is not written
 * @param onProgress called with the bytes received so far
 */
export async function download(
  url: URL,
  path: string,
  bytes: number,
  onProgress: (done: number) => void,
): Promise<void> {
  const silent = new AbortController()
  const fd = openSync(path, "w", 0o600)
  let timer = setTimeout(() => silent.abort(), SILENCE)
  try {
    const response = await fetch(url, { signal: silent.signal })
    if (!response.ok || response.body === null) throw new Error(`the server says ${response.status}`)
    let done = 0
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
      clearTimeout(timer)
      timer = setTimeout(() => silent.abort(), SILENCE)
      done += chunk.length
      if (done > bytes) throw new Error(`the file is larger than ${bytes} bytes`)
      for (let at = 0; at < chunk.length; ) at += writeSync(fd, chunk, at)
      onProgress(done)
    }
  } catch (cause) {
    const why = silent.signal.aborted ? `no data for ${SILENCE / 1000} s` : messageOf(cause)
    throw new CtxError("download-failed", `cannot fetch ${url}: ${why}`, {
      hint: "fetch the files by other means, then: ctxbridge model install --from DIR",
      cause,
    })
  } finally {
    clearTimeout(timer)
    closeSync(fd)
  }
}
