/** A machine that is not as it should be. */
import { readdirSync, statSync, utimesSync } from "node:fs"
import { tryTo } from "../../../base/files.ts"
import { join } from "../../../base/path.ts"
import { captureTranscript } from "../../../views/capture-transcript.ts"
import type { TortureCase } from "./torture-report.ts"
import type { World } from "./torture-world.ts"

const DAY = 86_400_000

/**
 * The clock cannot be set here. Instead, what hooks left is dated in the future: the files' time stamps, and those
 * inside them.
 */
export const clockGoingBack: TortureCase = {
  name: "clock going back",
  async run(world, dice, { rounds }) {
    const sessions = [world.session().grow(2), world.session().grow(2)]
    for (let n = 0; n < rounds; n++) {
      for (const session of sessions) {
        session.grow(1)
        const now = Date.now() + dice.between(1, 400) * DAY
        captureTranscript(world, session.path, {
          now,
          deadline: performance.now() + 10_000,
          lastLine: "whole",
        })
        await world.hook(world.anyEvent(dice), session.grow(1))
      }
      intoTheFuture(world)
    }
  },
}

function intoTheFuture({ root }: World): void {
  const future = (Date.now() + 30 * DAY) / 1000
  for (const name of readdirSync(root, { recursive: true }) as string[]) {
    const file = join(root, name)
    // A job may have removed it in the meantime.
    tryTo(() => statSync(file).isFile() && utimesSync(file, future, future))
  }
}

/** When the environment names no home, the user database does; when that is unusable, nothing can be written. */
export const homeless: TortureCase = {
  name: "home folder missing",
  async run(world, dice, { rounds }) {
    world.set("HOME", undefined)
    const session = world.session()
    const nowhere = {
      HOME: "/dev/null/home",
      XDG_DATA_HOME: "/dev/null/home/data",
      XDG_STATE_HOME: "/dev/null/home/state",
    }
    for (let n = 0; n < rounds; n++) {
      const HOME = dice.pick([undefined, "", "relative/home", "/dev/null/home"])
      await world.hook(world.anyEvent(dice), session.grow(1), { env: { HOME } })
      await world.hook(world.anyEvent(dice), session.grow(1), { env: nowhere })
    }
  },
}
