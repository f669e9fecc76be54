/** Vectors of length 1 around some topics, as those of texts are: neighbours are near, and most others are not. */
import { Dice } from "../src/cli/bench/seeded-random.ts"

const LENGTH = 384
const TOPICS = 500
/** How far from its topic a vector is, as a share: the farther, the less the nearest stand out. */
const NOISE = 0.6

export class Topics {
  readonly #centres: readonly Float64Array[]

  readonly #noise: number

  constructor(seed: number, noise = NOISE) {
    this.#noise = noise
    const dice = new Dice(seed)
    this.#centres = Array.from({ length: TOPICS }, () => direction(dice))
  }

  /** A vector of one of the topics. */
  near(dice: Dice): Float64Array {
    const centre = this.#centres[dice.between(0, TOPICS - 1)]!
    const noise = direction(dice)
    return unit(centre.map((value, n) => value + this.#noise * noise[n]!))
  }
}

const direction = (dice: Dice): Float64Array =>
  // The sum of four is nearly normal.
  unit(Float64Array.from({ length: LENGTH }, () => dice.unit() + dice.unit() + dice.unit() + dice.unit() - 2))

const unit = (vector: Float64Array): Float64Array => {
  const length = Math.hypot(...vector)
  return vector.map((value) => value / length)
}
