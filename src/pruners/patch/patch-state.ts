/** Whether a program is patched, or could be. */
import { existsSync } from "node:fs"
import type { Installed } from "../../claude/install/installed-clients.ts"
import { decode } from "../../util/edited-file.ts"
import { tryTo } from "../../util/files.ts"
import type { WayState } from "../way.ts"
import { examineProgram } from "./examine-program.ts"
import { findPlace } from "./find-place.ts"

export function patchState({ file }: Pick<Installed, "file">): WayState {
  const seen = tryTo(() => examineProgram(file))
  if (seen === undefined) return no("it cannot be read")
  const { noBundle, status, record } = seen
  if (noBundle !== undefined) return no(noBundle)
  if (status === "patched") {
    const isThere = record !== undefined && existsSync(record.binary)
    return {
      way: "patch",
      isActive: true,
      detail: `patched: ${file}`,
      ...(isThere
        ? {}
        : { problem: `the patch asks ${record?.binary}, which is gone, so nothing is pruned` }),
    }
  }
  if (status === "foreign-patch") return no("another tool has patched it")
  if (status === "changed-since-patch" && !seen.isReplaced) return no("it was changed since it was patched")
  const place = findPlace(decode(seen.bytes))
  if ("why" in place) return no(place.why)
  return {
    way: "patch",
    isActive: false,
    ...(seen.isReplaced && { detail: "the patch is gone, most likely with an update" }),
  }
}

const no = (unsupported: string): WayState => ({ way: "patch", isActive: false, unsupported })
