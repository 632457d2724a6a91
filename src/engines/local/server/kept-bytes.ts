/** How much the kept results of each owner hold, and which one goes first when all together hold too much. */
export class KeptBytes {
  private readonly owners = new Map<string, { total: number; readonly sizes: Map<string, number> }>();
  private total = 0;

  constructor(private readonly most: number) {}

  /** A size of 0 is not noted. */
  add(owner: string, requestId: string, size: number): void {
    if (size === 0) return;
    const kept = this.owners.get(owner) ?? { total: 0, sizes: new Map<string, number>() };
    this.owners.set(owner, kept);
    kept.sizes.set(requestId, size);
    kept.total += size;
    this.total += size;
  }

  delete(owner: string, requestId: string): void {
    const kept = this.owners.get(owner);
    const size = kept?.sizes.get(requestId);
    if (!kept || size === undefined) return;
    kept.sizes.delete(requestId);
    kept.total -= size;
    this.total -= size;
    if (kept.sizes.size === 0) this.owners.delete(owner);
  }

  /** The oldest of the owner that holds most, but never the only one it has; null while there is room. */
  surplus(): { readonly owner: string; readonly requestId: string } | null {
    if (this.total <= this.most) return null;
    let largest: { readonly owner: string; readonly requestId: string; readonly total: number } | null = null;
    for (const [owner, { total, sizes }] of this.owners) {
      const [requestId] = sizes.keys();
      if (requestId === undefined || sizes.size === 1 || total <= (largest?.total ?? 0)) continue;
      largest = { owner, requestId, total };
    }
    return largest;
  }
}
