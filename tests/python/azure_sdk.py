"""Azure's own SDK against the stand-in: what it makes, reads, waits for and refuses.

Environment: ARM_URL, ARM_CA, ARM_TENANT, ARM_SUBSCRIPTION, ARM_CLIENT_ID, ARM_SECRET. Prints one line per part that is done.
"""

import os

from azure.core.exceptions import ClientAuthenticationError, HttpResponseError, ResourceNotFoundError
from azure.identity import ClientSecretCredential
from azure.mgmt.compute import ComputeManagementClient
from azure.mgmt.network import NetworkManagementClient
from azure.mgmt.resource.deployments import DeploymentsMgmtClient
from azure.mgmt.resource.resources import ResourceManagementClient

URL = os.environ["ARM_URL"]
SUBSCRIPTION = os.environ["ARM_SUBSCRIPTION"]
os.environ["REQUESTS_CA_BUNDLE"] = os.environ["ARM_CA"]


def credential(secret: str) -> ClientSecretCredential:
    return ClientSecretCredential(
        os.environ["ARM_TENANT"],
        os.environ["ARM_CLIENT_ID"],
        secret,
        authority=URL,
        disable_instance_discovery=True,
    )


def client(kind, secret: str = os.environ["ARM_SECRET"]):
    return kind(
        credential(secret),
        SUBSCRIPTION,
        base_url=URL,
        credential_scopes=[URL + "/.default"],
        polling_interval=0.2,
        retry_total=0,
    )


def refused(code: str, call) -> HttpResponseError:
    try:
        call()
    except HttpResponseError as error:
        assert error.error is not None and error.error.code == code, f"{error.error}"
        return error
    raise AssertionError(f"expected {code}")


def groups(resources: ResourceManagementClient) -> None:
    assert not resources.resource_groups.check_existence("sdk")
    made = resources.resource_groups.create_or_update("sdk", {"location": "eastus", "tags": {"by": "sdk"}})
    assert (made.name, made.location, made.tags) == ("sdk", "eastus", {"by": "sdk"}), made
    assert resources.resource_groups.check_existence("sdk")
    assert "sdk" in [group.name for group in resources.resource_groups.list()]
    try:
        resources.resource_groups.get("nobody")
        raise AssertionError("there is no such group")
    except ResourceNotFoundError as error:
        assert error.error.code == "ResourceGroupNotFound", error
    print("groups")


def networks(network: NetworkManagementClient) -> None:
    rule = {
        "protocol": "Tcp",
        "sourcePortRange": "*",
        "destinationPortRange": "6443",
        "sourceAddressPrefix": "*",
        "destinationAddressPrefix": "*",
        "access": "Allow",
        "priority": 120,
        "direction": "Inbound",
    }
    rules = [{"name": "apiserver_in", "properties": rule}]
    nsg = network.network_security_groups.begin_create_or_update(
        "sdk", "nsg", {"location": "eastus", "properties": {"securityRules": rules}}
    ).result()
    assert nsg.provisioning_state == "Succeeded" and nsg.security_rules[0].name == "apiserver_in"
    subnets = [{"name": f"s{at}", "properties": {"addressPrefix": f"10.0.{at}.0/24"}} for at in range(3)]
    vnet = network.virtual_networks.begin_create_or_update(
        "sdk",
        "vnet",
        {"location": "eastus", "properties": {"addressSpace": {"addressPrefixes": ["10.0.0.0/16"]}, "subnets": subnets}},
    ).result()
    assert [subnet.name for subnet in vnet.subnets] == ["s0", "s1", "s2"], vnet
    subnet = network.subnets.begin_create_or_update(
        "sdk", "vnet", "s0", {"properties": {"addressPrefix": "10.0.0.0/24", "networkSecurityGroup": {"id": nsg.id}}}
    ).result()
    assert subnet.network_security_group.id == nsg.id
    items = [{"name": "ip", "properties": {"subnet": {"id": subnet.id}}}]
    nic = network.network_interfaces.begin_create_or_update(
        "sdk", "nic", {"location": "eastus", "properties": {"ipConfigurations": items}}
    ).result()
    assert nic.ip_configurations[0].private_ip_address == "10.0.0.4", nic
    assert network.network_security_groups.get("sdk", "nsg").subnets[0].id == subnet.id
    address = network.public_ip_addresses.begin_create_or_update(
        "sdk",
        "address",
        {"location": "eastus", "sku": {"name": "Standard"}, "properties": {"publicIPAllocationMethod": "Static"}},
    ).result()
    assert address.ip_address and address.public_ip_allocation_method == "Static"
    refused("InUseSubnetCannotBeDeleted", lambda: network.subnets.begin_delete("sdk", "vnet", "s0").result())
    print("networks")


def pages(network: NetworkManagementClient) -> None:
    for at in range(120):
        network.route_tables.begin_create_or_update("sdk", f"table-{at:03}", {"location": "eastus"}).result()
    pages = list(network.route_tables.list("sdk").by_page())
    names = [table.name for page in network.route_tables.list("sdk").by_page() for table in page]
    assert len(pages) == 2 and len(names) == len(set(names)) == 120, (len(pages), len(names))
    print("pages")


def deployments(deployments: DeploymentsMgmtClient, resources: ResourceManagementClient) -> None:
    template = {
        "$schema": "https://schema.management.azure.com/schemas/2015-01-01/deploymentTemplate.json#",
        "contentVersion": "1.0.0.0",
        "parameters": {"name": {"type": "string"}},
        "resources": [
            {
                "type": "Microsoft.Storage/storageAccounts",
                "apiVersion": "2021-09-01",
                "name": "[parameters('name')]",
                "location": "[resourceGroup().location]",
            }
        ],
        "outputs": {
            "blob": {
                "type": "string",
                "value": "[reference(resourceId('Microsoft.Storage/storageAccounts', parameters('name'))).primaryEndpoints.blob]",
            }
        },
    }

    def deploy(name: str, parameters: dict):
        body = {"properties": {"mode": "Incremental", "template": template, "parameters": parameters}}
        return deployments.deployments.begin_create_or_update("sdk", name, body).result()

    done = deploy("one", {"name": {"value": "account"}})
    assert done.properties.provisioning_state == "Succeeded", done
    assert done.properties.outputs["blob"]["value"].endswith("/blob/account/"), done.properties.outputs
    refused("InvalidTemplate", lambda: deploy("two", {}))
    kinds = {resource.type for resource in resources.resources.list_by_resource_group("sdk")}
    assert "Microsoft.Storage/storageAccounts" in kinds, kinds
    print("deployments")


def machines(compute: ComputeManagementClient, network: NetworkManagementClient) -> None:
    nic = network.network_interfaces.get("sdk", "nic")
    made = compute.virtual_machines.begin_create_or_update(
        "sdk",
        "vm",
        {
            "location": "eastus",
            "properties": {
                "hardwareProfile": {"vmSize": "Standard_D8s_v5"},
                "storageProfile": {"osDisk": {"name": "disk", "createOption": "FromImage"}},
                "osProfile": {"computerName": "vm", "adminUsername": "core", "adminPassword": "unused"},
                "networkProfile": {"networkInterfaces": [{"id": nic.id}]},
            },
        },
    ).result()
    assert made.provisioning_state == "Succeeded" and made.os_profile.admin_password is None

    def power() -> str:
        view = compute.virtual_machines.instance_view("sdk", "vm")
        return next(status.code for status in view.statuses if status.code.startswith("PowerState/"))

    assert power() == "PowerState/running"
    compute.virtual_machines.begin_deallocate("sdk", "vm").result()
    assert power() == "PowerState/deallocated"
    compute.virtual_machines.begin_start("sdk", "vm").result()
    assert power() == "PowerState/running"
    assert [vm.name for vm in compute.virtual_machines.list("sdk")] == ["vm"]
    skus = [sku.name for sku in compute.resource_skus.list(filter="location eq 'eastus'")]
    assert "Standard_D8s_v5" in skus
    usages = {usage.name.value: usage for usage in compute.usage.list("eastus")}
    assert usages["cores"].current_value == 8, usages["cores"]
    compute.virtual_machines.begin_delete("sdk", "vm").result()
    print("machines")


def strangers() -> None:
    try:
        client(ResourceManagementClient, "wrong").resource_groups.get("sdk")
        raise AssertionError("a wrong secret")
    except ClientAuthenticationError as error:
        assert "AADSTS7000215" in str(error), error
    print("strangers")


def end(resources: ResourceManagementClient) -> None:
    resources.resource_groups.begin_delete("sdk").result()
    assert not resources.resource_groups.check_existence("sdk")
    print("end")


def main() -> None:
    resources, network = client(ResourceManagementClient), client(NetworkManagementClient)
    groups(resources)
    networks(network)
    pages(network)
    deployments(client(DeploymentsMgmtClient), resources)
    machines(client(ComputeManagementClient), network)
    strangers()
    end(resources)


main()
