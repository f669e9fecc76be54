/** Many hooks at once, and hooks killed at any moment. */
import type { TortureCase } from "./torture-report.ts"

export const crowd: TortureCase = {
  name: "concurrent writers",
  async run(world, dice, { writers }) {
    const shared = world.session().grow(1)
    const many = Array.from({ length: writers }, () => world.session().grow(2))
    let growing = true
    const grow = async (): Promise<void> => {
      while (growing) {
        shared.grow(1)
        await Bun.sleep(1)
      }
    }
    const grown = grow()
    const one = many.map(() => world.hook(world.anyEvent(dice), shared))
    const own = many.map((session) => world.hook(world.anyEvent(dice), session))
    await Promise.all([...one, ...own])
    growing = false
    await grown
  },
}

export const kills: TortureCase = {
  name: "kill -9",
  async run(world, dice, { kills }) {
    const sessions = Array.from({ length: 4 }, () => world.session().grow(1))
    // Some end before they can be killed, so more are started.
    for (let n = 0; world.killed < kills && n < 4 * kills; n++) {
      // Occasionally enough that a job is started for it.
      const session = dice.pick(sessions).grow(n % 25 === 0 ? 500 : dice.between(1, 12))
      const dying: Promise<unknown>[] = [
        world.hook(world.anyEvent(dice), session, { killAfter: dice.between(0, 40) }),
      ]
      if (dice.chance(0.3)) dying.push(world.hook("stop", session, { killAfter: dice.between(0, 40) }))
      if (dice.chance(0.3)) dying.push(world.job({ killAfter: dice.between(0, 60) }))
      await Promise.all(dying)
      if (dice.chance(0.3)) world.killEverything()
    }
    world.killEverything()
  },
}
