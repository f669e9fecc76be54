/** Releases, and servers that hand them out well or badly, for the installer and `ctxbridge update`. */
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import { createServer as createTlsServer } from "node:https"
import type { AddressInfo } from "node:net"
import { join, resolve } from "node:path"
import { binary } from "./binary.ts"

export const INSTALLER = resolve(import.meta.dir, "../../install.sh")

/** Name of this machine among the targets, with AVX2 or without. */
export const PLATFORM = `${process.platform}-${process.arch}`

const sha256 = (content: Uint8Array): string => new Bun.CryptoHasher("sha256").update(content).digest("hex")

/** A program that says a version and its commands, and does nothing else. */
export const standIn = (version: string, more = ""): Uint8Array =>
  Buffer.from(
    `#!/bin/sh\n[ "$1" != --version ] || { echo "ctxbridge ${version}"; exit; }\necho "stand-in ${version}: $*"\n${more}`,
  )

/**
 * A binary, by default the one under test, with another version, which has as many characters: the digits are replaced wherever the program
 * keeps them.
 */
export function binaryAs(version: string, path = binary()): Uint8Array {
  const { version: own } = JSON.parse(readFileSync(resolve(import.meta.dir, "../../package.json"), "utf8"))
  if (own.length !== version.length) throw new Error(`${version} is not as long as ${own}`)
  const content = readFileSync(path)
  for (let at = content.indexOf(own); at >= 0; at = content.indexOf(own, at + 1)) {
    // Part of another number.
    if (!/[\d.]/.test(String.fromCharCode(content[at - 1]!))) content.write(version, at)
  }
  return content
}

/** @param system as in the binary's name, with its `.exe`; by default this machine's */
export function writeRelease(folder: string, version: string, program: Uint8Array, system = PLATFORM): void {
  mkdirSync(folder, { recursive: true })
  const name = `ctxbridge-${version}-${system}`
  const files = { [name]: program, [`${name}.gz`]: Bun.gzipSync(Buffer.from(program), { level: 1 }) }
  for (const [file, content] of Object.entries(files)) writeFileSync(join(folder, file), content)
  const sums = Object.entries(files).map(([file, content]) => `${sha256(content)}  ${file}\n`)
  writeFileSync(join(folder, "SHA256SUMS"), sums.join(""))
  copyFileSync(INSTALLER, join(folder, "install.sh"))
}

/** Answers instead of the server; false: the file is handed out as it is. */
export type Fault = (request: IncomingMessage, response: ServerResponse, file: string) => boolean

export interface ReleaseServer extends Disposable {
  readonly url: string
  /** Paths asked for, each with the first byte that was wanted. */
  readonly asked: [path: string, from: number][]
}

/** @param tls serve https with this */
export async function serveRelease(
  folder: string,
  fault: Fault = () => false,
  tls?: { readonly key: string; readonly cert: string },
): Promise<ReleaseServer> {
  const asked: [string, number][] = []
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    const path = new URL(request.url ?? "/", "http://localhost").pathname
    const from = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? "")?.[1] ?? 0)
    asked.push([path, from])
    const file = join(folder, path)
    if (fault(request, response, file)) return
    if (!existsSync(file)) return void response.writeHead(404).end()
    const content = readFileSync(file)
    if (from === 0) return void response.writeHead(200, { "content-length": content.length }).end(content)
    if (from >= content.length) return void response.writeHead(416).end()
    response.writeHead(206, {
      "content-length": content.length - from,
      "content-range": `bytes ${from}-${content.length - 1}/${content.length}`,
    })
    response.end(content.subarray(from))
  }
  const server: Server = tls === undefined ? createServer(answer) : (createTlsServer(tls, answer) as Server)
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done))
  const { port } = server.address() as AddressInfo
  const close = (): void => {
    server.closeAllConnections()
    server.close()
  }
  return { url: `${tls ? "https" : "http"}://localhost:${port}`, asked, [Symbol.dispose]: close }
}

/** A certificate for localhost, made by openssl. */
export function selfSigned(folder: string): { cert: string; tls: { key: string; cert: string } } {
  const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")]
  const words =
    "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost"
  Bun.spawnSync([...words.split(" "), "-keyout", key, "-out", cert], { stderr: "ignore" })
  return { cert, tls: { key: readFileSync(key, "utf8"), cert: readFileSync(cert, "utf8") } }
}

/** Sends everybody elsewhere. */
export const redirectTo =
  (base: () => string): Fault =>
  (request, response) => {
    response.writeHead(302, { location: `${base()}${request.url}` }).end()
    return true
  }

/** What can be wrong with a packed binary on its way. */
export const FAULTS: Readonly<Record<string, Fault>> = {
  "a flipped byte": (request, response, file) => {
    if (!request.url?.endsWith(".gz")) return false
    const content = readFileSync(file)
    content[content.length >> 1]! ^= 1
    response.writeHead(200, { "content-length": content.length }).end(content)
    return true
  },
  "a truncated file": (request, response, file) => {
    if (!request.url?.endsWith(".gz")) return false
    const content = readFileSync(file)
    response
      .writeHead(200, { "content-length": content.length >> 1 })
      .end(content.subarray(0, content.length >> 1))
    return true
  },
  "a wrong sum": (request, response, file) => {
    if (!request.url?.endsWith("SHA256SUMS")) return false
    response
      .writeHead(200)
      .end(readFileSync(file, "utf8").replaceAll(/^[0-9a-f]/gm, (c) => (c === "0" ? "1" : "0")))
    return true
  },
  "a redirect to http": (request, response) => {
    if (!request.url?.endsWith(".gz")) return false
    response.writeHead(302, { location: `http://localhost:1${request.url}` }).end()
    return true
  },
  "a dying server": (request, response, file) => {
    if (!request.url?.endsWith(".gz")) return false
    const content = readFileSync(file)
    response.writeHead(200, { "content-length": content.length })
    response.write(content.subarray(0, content.length >> 1), () => response.destroy())
    return true
  },
  "a missing file": (request, response) => {
    if (!request.url?.endsWith(".gz")) return false
    response.writeHead(404).end()
    return true
  },
}
