/**
 * A transcript that the host changes while hooks read it. What a hook was told of must remain, in one version or
 * another.
 */
import { mkdirSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs"
import { renameSync } from "../../../base/fs.ts"
import { dirname } from "../../../base/path.ts"
import type { Dice } from "../seeded-random.ts"
import type { TortureCase } from "./torture-report.ts"
import type { GrowingSession } from "./torture-world.ts"

const HOOKS = 4

/** In each round, the host changes the transcript while hooks are reading it, and continues writing. */
function changing(name: string, change: (session: GrowingSession, dice: Dice) => void): TortureCase {
  return {
    name: `transcript ${name} while read`,
    async run(world, dice, { rounds }) {
      const session = world.session()
      for (let n = 0; n < rounds; n++) {
        await world.hook(world.anyEvent(dice), session.grow(dice.between(1, 300)))
        const reading = Array.from({ length: HOOKS }, () => {
          session.grow(dice.between(1, 300))
          return world.hook(world.anyEvent(dice), session)
        })
        await Bun.sleep(dice.between(0, 15))
        session.generation++
        change(session, dice)
        session.grow(1)
        await Promise.all(reading)
      }
    },
  }
}

export const truncated = changing("truncated", (session, dice) =>
  truncateSync(session.path, dice.between(0, statSync(session.path).size)),
)

export const replaced = changing("replaced", (session, dice) => {
  const other = `${session.path}.other`
  mkdirSync(dirname(other), { recursive: true })
  writeFileSync(other, session.text(dice.between(1, 100)))
  renameSync(other, session.path)
})

export const deleted = changing("deleted", (session) => rmSync(session.path))
