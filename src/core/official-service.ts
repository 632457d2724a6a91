/** Where the service's own client goes. */
export const OFFICIAL_SERVICE = 'https://tinker.thinkingmachines.dev/services/tinker-prod';

export function isOfficialService(url: string): boolean {
  return URL.canParse(url) && new URL(url).host === new URL(OFFICIAL_SERVICE).host;
}
