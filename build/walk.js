/** Calls `visit` with a node of a syntax tree, and then with all nodes below it. */
export function walk(node, visit) {
  visit(node)
  for (const part of Object.values(node)) {
    for (const each of Array.isArray(part) ? part : [part]) if (typeof each?.type === 'string') walk(each, visit)
  }
}
