/**
 * Returns the new answer with every unchanged part replaced by the object that was there before, so that nothing is
 * rendered again for it. Rows of lists are matched by their first field, which is their id, or by position.
 */
export function keepUnchanged<T>(had: unknown, came: T): T {
  if (Object.is(had, came) || !isData(had) || !isData(came)) return came
  if (Array.isArray(had) !== Array.isArray(came)) return came
  return (Array.isArray(came) ? listOf(had as unknown[], came) : recordOf(had as Fields, came as Fields)) as T
}

type Fields = Record<string, unknown>

const isData = (value: unknown): value is object => typeof value === 'object' && value !== null

function listOf(had: readonly unknown[], came: readonly unknown[]): readonly unknown[] {
  const byId = new Map(had.map(each => [idOf(each), each]))
  const list = came.map((each, at) => keepUnchanged(isData(each) ? byId.get(idOf(each)) : had[at], each))
  return list.length === had.length && list.every((each, at) => each === had[at]) ? had : list
}

function recordOf(had: Fields, came: Fields): Fields {
  const names = Object.keys(came)
  const record = Object.fromEntries(names.map(name => [name, keepUnchanged(had[name], came[name])]))
  const isSame = names.length === Object.keys(had).length && names.every(name => record[name] === had[name])
  return isSame ? had : record
}

const idOf = (row: unknown) => (isData(row) ? Object.values(row)[0] : row)
