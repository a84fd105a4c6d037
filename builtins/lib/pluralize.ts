/** Returns `1 goal` or `12 goals`. @param many the plural, by default with an s */
export function pluralize(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`
}
