/** Returns a handler of rejections that answers undefined to system errors with these codes, and throws all others. */
export function unlessCode(...codes: string[]): (error: unknown) => undefined {
  return error => {
    if (!codes.includes((error as NodeJS.ErrnoException).code ?? '')) throw error
  }
}

/** Handler for files that may not exist. */
export const unlessMissing = unlessCode('ENOENT')
