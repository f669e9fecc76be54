/** How a variable such as STRIPE_API_KEY is spelled in code, files and speech. */
export const wordsOf = (variable: string): string[] =>
  variable
    .replace(/([a-z])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .split("_")
export const capitalised = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1)
export const snake = (variable: string): string => wordsOf(variable).join("_")
export const upper = (variable: string): string => snake(variable).toUpperCase()
export const kebab = (variable: string): string => wordsOf(variable).join("-")
export const dotted = (variable: string): string => wordsOf(variable).join(".")
export const spoken = (variable: string): string => wordsOf(variable).join(" ")
export const titled = (variable: string): string => wordsOf(variable).map(capitalised).join(" ")
export const pascal = (variable: string): string => wordsOf(variable).map(capitalised).join("")
export const header = (variable: string): string => wordsOf(variable).map(capitalised).join("-")
export const camel = (variable: string): string => {
  const [first, ...rest] = wordsOf(variable)
  return first + rest.map(capitalised).join("")
}
