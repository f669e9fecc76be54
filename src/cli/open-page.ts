/** Opens a file with whatever the user's system opens it with, without a shell. */
import { pathToFileURL } from "node:url"
import { childEnvironment } from "../config/load.ts"
import { CtxError, messageOf } from "../util/errors.ts"

const OPENERS: Readonly<Record<string, readonly string[]>> = {
  darwin: ["open"],
  win32: ["rundll32.exe", "url.dll,FileProtocolHandler"],
}
const OTHERWISE = ["xdg-open"]

/** ms to wait whether it fails: some openers stay as long as the browser. */
const PATIENCE = 2000

/**
 * @param anchor of a place in the file; empty: its beginning
 * @throws CtxError
 */
export async function openPage(path: string, anchor: string): Promise<void> {
  const address = pathToFileURL(path).href + (anchor === "" ? "" : `#${anchor}`)
  const command = [...(OPENERS[process.platform] ?? OTHERWISE), address]
  const failed = (cause: unknown): CtxError =>
    new CtxError("no-opener", `${command[0]} cannot open the page: ${messageOf(cause)}`, {
      hint: `open ${path} in a browser`,
      cause,
    })
  let child: Bun.Subprocess
  try {
    child = Bun.spawn(command, {
      stdio: ["ignore", "ignore", "ignore"],
      env: childEnvironment(),
      detached: true,
    })
  } catch (error) {
    throw failed(error)
  }
  child.unref()
  const stays = Promise.withResolvers<number>()
  const timer = setTimeout(stays.resolve, PATIENCE, 0)
  const code = await Promise.race([child.exited, stays.promise])
  // We would live on until it fires.
  clearTimeout(timer)
  if (code !== 0) throw failed(`exit ${code}`)
}
