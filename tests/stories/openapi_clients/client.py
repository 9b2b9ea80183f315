"""A client of the portal in Python, generated from the served document as the package `portal`.

usage: client.py URL CA TOKEN CLUSTER, with the folder of the package in PYTHONPATH. Any deviation is an assertion.
"""

import datetime
import json
import ssl
import sys

from portal import AuthenticatedClient
from portal.api.clusters import search_clusters
from portal.api.elevations import list_elevations
from portal.api.grants import create_grant, get_grant, list_grants, revoke_grant
from portal.api.service import get_info
from portal.models import ClusterColumn, ClusterPage, Error, GrantDetail, GrantRow, GrantRowList, GrantState
from portal.models import IssuedGrant, NewGrant, NewGrantKind, PortalInfo, Rights, Side


def main(url, ca, token, target):
    trust = ssl.create_default_context(cafile=ca)

    def portal(token):
        return AuthenticatedClient(url, token, verify_ssl=trust, raise_on_unexpected_status=True, timeout=60)

    with portal(token) as client:
        assert isinstance(get_info.sync(client=client), PortalInfo)
        page = search_clusters.sync(client=client, limit=500, sort=ClusterColumn.NAME)
        assert isinstance(page, ClusterPage), page
        assert target.lower() in [cluster.resource_id.lower() for cluster in page.items], len(page.items)

        wanted = NewGrant(NewGrantKind.KUBECONFIG, "story of generated clients", target, rights=Rights.READ, life=600)
        issued = create_grant.sync(client=client, body=wanted)
        assert isinstance(issued, IssuedGrant) and issued.token and issued.server, "no grant"
        grant = issued.grant
        assert grant.state is GrantState.ACTIVE and grant.rights is Rights.READ, grant
        assert grant.not_after > datetime.datetime.now(datetime.timezone.utc), grant

        mine = list_grants.sync(client=client, active=True)
        assert isinstance(mine, GrantRowList) and grant.id in [row.id for row in mine.items], mine
        ended = revoke_grant.sync(grant.id, client=client, why="the story ends")
        assert isinstance(ended, GrantRow) and ended.state.value == "revoked", ended
        detail = get_grant.sync(grant.id, client=client)
        assert isinstance(detail, GrantDetail) and detail.state.value == "revoked" and not detail.streams, detail

        unknown = get_grant.sync_detailed("0" * 26, client=client)
        assert unknown.status_code == 404 and isinstance(unknown.parsed, Error), unknown
        assert (unknown.parsed.code, unknown.parsed.side) == ("grant_not_found", Side.YOU), unknown
        wrong = list_elevations.sync_detailed(client=client, limit="many")
        assert wrong.status_code == 400 and isinstance(wrong.parsed, Error), wrong
        assert "limit" in wrong.parsed.message, wrong
    with portal("nobody") as stranger:
        refused = list_grants.sync(client=stranger)
        assert isinstance(refused, Error) and refused.code == "token_refused", refused
    print(json.dumps({"clusters": len(page.items), "grant": grant.id}))


main(*sys.argv[1:])
