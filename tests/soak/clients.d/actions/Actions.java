import io.kubernetes.client.Exec;
import io.kubernetes.client.PodLogs;
import io.kubernetes.client.PortForward;
import io.kubernetes.client.custom.V1Patch;
import io.kubernetes.client.informer.SharedInformerFactory;
import io.kubernetes.client.openapi.ApiClient;
import io.kubernetes.client.openapi.apis.CoreV1Api;
import io.kubernetes.client.openapi.models.V1ConfigMap;
import io.kubernetes.client.openapi.models.V1ConfigMapList;
import io.kubernetes.client.openapi.models.V1ObjectMeta;
import io.kubernetes.client.openapi.models.V1Pod;
import io.kubernetes.client.openapi.models.V1PodList;
import io.kubernetes.client.util.ClientBuilder;
import io.kubernetes.client.util.Watch;
import io.kubernetes.client.util.generic.GenericKubernetesApi;
import io.kubernetes.client.util.generic.KubernetesApiResponse;
import io.kubernetes.client.util.generic.options.CreateOptions;
import io.kubernetes.client.util.generic.options.PatchOptions;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.reflect.Type;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;

/** What a program with the Java client does. It prints a line `ACTION ok` or `ACTION FAILED` each. */
public final class Actions {
  /** Seconds for one action. */
  private static final int LIMIT = 90;

  private static final String NAMESPACE = System.getenv("CLIENT_NAMESPACE");
  private static final String POD = System.getenv("CLIENT_POD");
  private static final int PORT = Integer.parseInt(System.getenv("CLIENT_PORT"));

  /** A name of our own: versions run one after the other on the same cluster. */
  private final String map = "of-a-client-" + ProcessHandle.current().pid();

  private final ApiClient client;
  private final CoreV1Api api;
  private final GenericKubernetesApi<V1ConfigMap, V1ConfigMapList> maps;

  private Actions() throws Exception {
    // Watches have no end.
    client = ClientBuilder.standard().setReadTimeout(Duration.ZERO).build();
    api = new CoreV1Api(client);
    maps = new GenericKubernetesApi<>(V1ConfigMap.class, V1ConfigMapList.class, "", "v1", "configmaps", client);
  }

  private void get() throws Exception {
    same(api.readNamespacedPod(POD, NAMESPACE).execute().getMetadata().getName(), POD);
  }

  private void list() throws Exception {
    List<V1Pod> pods = api.listNamespacedPod(NAMESPACE).execute().getItems();
    holds(pods.stream().anyMatch(Actions::isOurs), pods.size() + " other pods");
  }

  private void watch() throws Exception {
    Type type = new com.google.gson.reflect.TypeToken<Watch.Response<V1Pod>>() {}.getType();
    okhttp3.Call call = api.listNamespacedPod(NAMESPACE).watch(true).timeoutSeconds(10).buildCall(null);
    try (Watch<V1Pod> events = Watch.createWatch(client, call, type)) {
      for (Watch.Response<V1Pod> event : events) {
        if (isOurs(event.object)) {
          return;
        }
      }
    }
    throw new AssertionError("it ended");
  }

  private void informer() throws Exception {
    SharedInformerFactory factory = new SharedInformerFactory(client);
    var pods = new GenericKubernetesApi<>(V1Pod.class, V1PodList.class, "", "v1", "pods", client);
    var informer = factory.sharedIndexInformerFor(pods, V1Pod.class, 0, NAMESPACE);
    factory.startAllRegisteredInformers();
    try {
      while (informer.getIndexer().getByKey(NAMESPACE + "/" + POD) == null) {
        Thread.sleep(50);
      }
    } finally {
      factory.stopAllRegisteredInformers();
    }
  }

  private void logs() throws Exception {
    api.readNamespacedPodLog(POD, NAMESPACE).tailLines(5).execute();
  }

  /** The log goes on; its last line comes at once. */
  private void logsFollow() throws Exception {
    try (InputStream lines = new PodLogs(client).streamNamespacedPodLog(NAMESPACE, POD, null, null, 1, false)) {
      holds(lines.read() >= 0, "it ended");
    }
  }

  /** This library cannot read from a command that has ended before its output is asked for. */
  private void exec() throws Exception {
    String[] command = {"sh", "-c", "sleep 1; echo from-the-container"};
    Process process = new Exec(client).exec(NAMESPACE, POD, command, false);
    same(text(process.getInputStream()).strip(), "from-the-container");
    same(process.waitFor(), 0);
  }

  private void execStatus() throws Exception {
    same(new Exec(client).exec(NAMESPACE, POD, new String[] {"sh", "-c", "exit 7"}, false).waitFor(), 7);
  }

  /** The command ends by itself: this client cannot tell it that its input has ended. */
  private void execStdin() throws Exception {
    String sent = "to-the-container";
    String[] command = {"head", "-c", String.valueOf(sent.length())};
    Process process = new Exec(client).exec(NAMESPACE, POD, command, true);
    InputStream stdout = process.getInputStream();
    OutputStream stdin = process.getOutputStream();
    stdin.write(sent.getBytes(StandardCharsets.UTF_8));
    stdin.flush();
    same(text(stdout), sent);
    same(process.waitFor(), 0);
  }

  private void portForward() throws Exception {
    try (var forward = new PortForward(client).forward(NAMESPACE, POD, List.of(PORT))) {
      OutputStream request = forward.getOutboundStream(PORT);
      request.write("GET / HTTP/1.0\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
      request.flush();
      InputStream answer = forward.getInputStream(PORT);
      StringBuilder said = new StringBuilder();
      // The stream does not end with the connection of the pod.
      while (said.indexOf(System.getenv("CLIENT_PORT_SAYS")) < 0) {
        int next = answer.read();
        holds(next >= 0, "it ended after: " + said);
        said.append((char) next);
      }
    }
  }

  private void applyDryRun() throws Exception {
    CreateOptions how = new CreateOptions();
    how.setDryRun("All");
    has(maps.create(body("value"), how), "value");
  }

  private void create() throws Exception {
    has(maps.create(body("created")), "created");
  }

  private void apply() throws Exception {
    PatchOptions how = new PatchOptions();
    how.setFieldManager("a-client");
    how.setForce(true);
    V1Patch patch = new V1Patch(client.getJSON().serialize(body("applied")));
    has(maps.patch(NAMESPACE, map, V1Patch.PATCH_FORMAT_APPLY_YAML, patch, how), "applied");
  }

  private void patch() throws Exception {
    V1Patch patch = new V1Patch("{\"data\":{\"key\":\"patched\"}}");
    has(maps.patch(NAMESPACE, map, V1Patch.PATCH_FORMAT_STRATEGIC_MERGE_PATCH, patch), "patched");
  }

  private void delete() throws Exception {
    maps.delete(NAMESPACE, map).throwsApiException();
    same(maps.get(NAMESPACE, map).getHttpStatusCode(), 404);
  }

  private V1ConfigMap body(String value) {
    V1ObjectMeta metadata = new V1ObjectMeta().name(map).namespace(NAMESPACE);
    return new V1ConfigMap().apiVersion("v1").kind("ConfigMap").metadata(metadata).data(Map.of("key", value));
  }

  private static boolean isOurs(V1Pod pod) {
    return POD.equals(pod.getMetadata().getName());
  }

  private static String text(InputStream from) throws Exception {
    return new String(from.readAllBytes(), StandardCharsets.UTF_8);
  }

  private static void has(KubernetesApiResponse<V1ConfigMap> answer, String value) throws Exception {
    same(answer.throwsApiException().getObject().getData().get("key"), value);
  }

  private static void same(Object is, Object shouldBe) {
    holds(shouldBe.equals(is), is + " instead of " + shouldBe);
  }

  private static void holds(boolean is, String said) {
    if (!is) {
      throw new AssertionError(said);
    }
  }

  private interface Action {
    void run() throws Exception;
  }

  private static void attempt(String name, Action action) {
    FutureTask<Void> task = new FutureTask<>(() -> {
      action.run();
      return null;
    });
    Thread thread = new Thread(task, name);
    thread.setDaemon(true);
    thread.start();
    try {
      task.get(LIMIT, TimeUnit.SECONDS);
      System.out.println(name + " ok");
    } catch (Exception error) {
      System.err.print(name + ": ");
      error.printStackTrace();
      System.out.println(name + " FAILED");
    }
  }

  public static void main(String[] args) throws Exception {
    Actions actions = new Actions();
    attempt("get", actions::get);
    attempt("list", actions::list);
    attempt("watch", actions::watch);
    attempt("informer", actions::informer);
    attempt("logs", actions::logs);
    attempt("logs-follow", actions::logsFollow);
    attempt("exec", actions::exec);
    attempt("exec-status", actions::execStatus);
    attempt("exec-stdin", actions::execStdin);
    attempt("port-forward", actions::portForward);
    attempt("apply-dry-run", actions::applyDryRun);
    attempt("create", actions::create);
    attempt("apply", actions::apply);
    attempt("patch", actions::patch);
    attempt("delete", actions::delete);
    // Threads of the library do not hold the process.
    System.exit(0);
  }
}
