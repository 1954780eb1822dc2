// What orval's clients call for each request: it adds the address of the server, the token and the microversions.

let base = "";

export function connect(url: string): void {
  base = url;
}

export async function send<Answer>(path: string, options?: RequestInit): Promise<Answer> {
  const response = await fetch(base + path, {
    ...options,
    headers: {
      "X-Auth-Token": "admin", "OpenStack-API-Version": "placement 1.39", "X-OpenStack-Ironic-API-Version": "1.82", ...options?.headers,
    },
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, data: text === "" ? undefined : JSON.parse(text) } as Answer;
}
