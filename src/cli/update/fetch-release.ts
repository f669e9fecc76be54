/**
 * Gets files of a release over the network, only when the user runs `ctxbridge update`. The caller checks their sums.
 */
import { closeSync, openSync, statSync } from "node:fs"
import { CtxError, codeOf, messageOf } from "../../util/errors.ts"
import { writeAll } from "../../util/write-output.ts"

/** ms without a byte after which the server is considered dead. */
const SILENCE = 30_000
const REDIRECTS = 5
/** Maximum bytes of a text. */
const TEXT = 1 << 20

/** The end of the request's patience starts anew with each byte. */
class Patience {
  readonly #controller = new AbortController()
  #timer: Timer | undefined
  readonly signal = this.#controller.signal

  constructor() {
    this.renew()
  }

  renew(): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#controller.abort(), SILENCE)
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer)
  }
}

/** Follows redirects, but to https only. */
async function requested(url: URL, headers: Record<string, string>, patience: Patience): Promise<Response> {
  let at = url
  for (let n = 0; n <= REDIRECTS; n++) {
    const response = await fetch(at, { headers, redirect: "manual", signal: patience.signal })
    const location = response.headers.get("location")
    if (response.status < 300 || response.status >= 400 || location === null) return response
    const next = new URL(location, at)
    if (next.protocol !== "https:") throw new Error(`${at} redirects to ${next}`)
    at = next
  }
  throw new Error(`more than ${REDIRECTS} redirects`)
}

async function told<T>(url: URL, patience: Patience, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    if (["ENOSPC", "EDQUOT", "EFBIG"].includes(codeOf(cause))) throw cause
    const why = patience.signal.aborted ? `no data for ${SILENCE / 1000} s` : messageOf(cause)
    throw new CtxError("download-failed", `cannot fetch ${url}: ${why}`, {
      hint: "nothing was changed; try again, and it goes on where it stopped",
      cause,
    })
  }
}

/** @returns undefined if there is no such file */
export async function fetchText(url: URL): Promise<string | undefined> {
  using patience = new Patience()
  return await told(url, patience, async () => {
    const response = await requested(url, {}, patience)
    if (response.status === 404) return undefined
    if (!response.ok) throw new Error(`the server says ${response.status}`)
    const text = await response.text()
    if (text.length > TEXT) throw new Error(`the file is larger than ${TEXT} bytes`)
    return text
  })
}

/**
 * Writes the file, or what is missing of it if a part is there.
 *
 * @param onProgress called with the bytes that are there so far, and how many there will be; 0: unknown
 */
export async function fetchFile(
  url: URL,
  path: string,
  onProgress: (done: number, total: number) => void,
): Promise<void> {
  using patience = new Patience()
  await told(url, patience, async () => {
    const start = statSync(path, { throwIfNoEntry: false })?.size ?? 0
    const response = await requested(url, start === 0 ? {} : { range: `bytes=${start}-` }, patience)
    // The part is the whole file, or longer than it.
    if (response.status === 416) return
    if (!response.ok || response.body === null) throw new Error(`the server says ${response.status}`)
    const goesOn = response.status === 206
    let done = goesOn ? start : 0
    const total = done + Number(response.headers.get("content-length") ?? 0)
    const fd = openSync(path, goesOn ? "a" : "w", 0o600)
    try {
      for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
        patience.renew()
        writeAll(fd, chunk)
        done += chunk.length
        onProgress(done, total)
      }
    } finally {
      closeSync(fd)
    }
    if (done < total) throw new Error("the connection was closed")
  })
}
