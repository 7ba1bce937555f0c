/** A promise with its resolvers outside (Node 20 has no `Promise.withResolvers`). */
export function deferred() {
  const result = {};
  result.promise = new Promise((resolve, reject) => Object.assign(result, { resolve, reject }));
  return result;
}
