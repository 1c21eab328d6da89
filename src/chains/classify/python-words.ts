/**
 * What Python's own types and the libraries of data compute with, by name. They have thousands of methods, some of which
 * write, fetch or run what they are given: so the harmless ones are listed, and not the others.
 */
import { anyOf, words } from "./code-marks.ts";

/** Of modules that compute: all that is called right from them, but for what the marks name. */
export const computing: ReadonlySet<string> =
  words(`__future__ abc array base64 binascii bisect calendar cmath collections
  collections.abc colorsys contextlib copy csv dataclasses datetime decimal difflib enum fractions functools graphlib hashlib
  heapq hmac html itertools json math numbers operator os os.path pprint random re secrets statistics string struct sys
  textwrap time types typing typing_extensions unicodedata urllib.parse uuid zlib zoneinfo dateutil dateutil.parser
  dateutil.relativedelta pytz tabulate`);

/** Of which only what is known by its name is called. */
export const large: ReadonlySet<string> = words(`asyncio io pathlib numpy numpy.linalg numpy.random pandas polars scipy
  scipy.cluster.hierarchy scipy.integrate scipy.interpolate scipy.linalg scipy.optimize scipy.signal scipy.spatial
  scipy.spatial.distance scipy.special scipy.stats sklearn sklearn.cluster sklearn.compose sklearn.datasets
  sklearn.decomposition sklearn.dummy sklearn.ensemble sklearn.feature_extraction.text sklearn.feature_selection
  sklearn.impute sklearn.linear_model sklearn.metrics sklearn.metrics.pairwise sklearn.model_selection sklearn.naive_bayes
  sklearn.neighbors sklearn.pipeline sklearn.preprocessing sklearn.svm sklearn.tree statsmodels.api matplotlib
  matplotlib.pyplot matplotlib.dates matplotlib.ticker seaborn plotly plotly.express plotly.graph_objects networkx`);

const ofValues = `abs acquire add add_done_callback add_note append appendleft as_integer_ratio as_posix astimezone bit_count
  bit_length cancel cancelled capitalize casefold center choice choices clear close combine conjugate count date decode
  difference difference_update digest discard done dst elements encode end endswith enter_context exception expandtabs
  extend extendleft fill find findall finditer flush format from_bytes fromhex fromisocalendar fromisoformat fromkeys
  fromordinal fromtimestamp fullmatch gauss get get_nowait getbuffer getrandbits getvalue group groupdict groups hex
  hexdigest index insert intersection intersection_update is_absolute is_finite is_infinite is_integer is_nan is_set
  is_signed is_zero isalnum isalpha isascii isdecimal isdigit isdisjoint isidentifier islower isnumeric isocalendar
  isoformat isoweekday isprintable isspace issubset issuperset istitle isupper items join joinpath keys limit_denominator
  ljust locked lower lstrip maketrans match most_common move_to_end new_child normalize now partition pop popitem popleft
  put put_nowait qsize quantize randbytes randint random randrange read readline readlines reader relative_to release remove
  removeprefix removesuffix replace result reverse rfind rindex rjust rotate rpartition rsplit rstrip safe_substitute sample
  search seed seek send set set_result setdefault setstate shuffle sort span split splitlines start startswith strftime
  strip strptime sub subn substitute swapcase symmetric_difference task_done tell throw time timestamp timetuple title
  to_bytes today tolist toordinal total total_seconds translate uniform union update upper utcfromtimestamp utcnow
  utcoffset values wait weekday with_name with_stem with_suffix write writeheader writelines writerow writerows zfill
  open write_text write_bytes read_text read_bytes touch mkdir iterdir glob rglob exists is_dir is_file stat resolve absolute expanduser cwd home cache_clear cache_info`;
const ofAsyncio = `gather run sleep wait_for create_task ensure_future as_completed shield timeout get_event_loop
  get_running_loop run_until_complete current_task all_tasks to_thread Queue Event Lock Semaphore BoundedSemaphore TaskGroup
  Runner iscoroutinefunction StringIO BytesIO Path PurePath PurePosixPath`;
const ofTables = `agg aggregate align all any apply applymap argmax argmin argsort asfreq asof assign astype at_time
  autocorr between bfill bool clip concat convert_dtypes copy corr corrwith cov crosstab cummax cummin cumprod cumsum cut
  date_range describe diff dot drop drop_duplicates droplevel dropna duplicated eq equals ewm expanding explode factorize
  ffill fillna filter first first_valid_index from_dict from_records from_tuples from_product ge get_dummies get_group groupby
  gt head hist idxmax idxmin infer_objects info interpolate isin isna isnull iterrows itertuples json_normalize kurt kurtosis
  last last_valid_index le len lt map mask max mean median melt memory_usage merge merge_asof min mode month_name mul nlargest
  notna notnull nsmallest nth nunique pct_change period_range pivot pivot_table plot prod product qcut quantile rank reindex
  rename rename_axis reorder_levels resample reset_index rolling round select select_dtypes sem set_axis set_index shape
  shift size skew slice sort_index sort_values squeeze stack std sum swaplevel tail take to_csv to_datetime to_dict to_excel
  to_feather to_frame to_html to_json to_latex to_list to_markdown to_numeric to_numpy to_parquet to_period to_pydatetime
  to_records to_stata to_string to_timedelta to_timestamp to_xml to_orc transform transpose truncate tz_convert tz_localize
  unique unstack value_counts var where xs zip day_name floor ceil contains extract extractall cat pad normalize
  DataFrame Series Index MultiIndex RangeIndex DatetimeIndex Timestamp Timedelta Categorical CategoricalDtype Grouper
  NamedAgg Period DateOffset option_context set_option read_csv read_json read_excel read_parquet read_table read_fwf read_feather
  read_orc read_stata read_xml read_ndjson query bar barh line pie area scatter box boxplot background_gradient hide
  with_columns group_by group_by_dynamic over alias lit col when then otherwise collect lazy vstack hstack n_unique is_in
  is_null is_not_null fill_null drop_nulls sort_by cast with_row_index join_asof scan_csv scan_parquet scan_ndjson write_csv
  write_json write_parquet write_excel write_ipc write_ndjson to_lowercase to_uppercase year month day hour`;
const ofNumbers = `allclose arange arccos arcsin arctan arctan2 argpartition argwhere around array array_equal array_split
  asarray atleast_1d atleast_2d average bincount broadcast_to column_stack concatenate convolve corrcoef cos cosh count_nonzero
  cross default_rng deg2rad degrees det diag diagonal digitize divide ediff1d eig eigh eigvals einsum empty empty_like exp
  expand_dims expm1 extract eye fft flatten flip floor_divide full full_like geomspace gradient histogram hypot identity
  in1d inner interp inv isclose isfinite isinf isnan item kron less linspace log log10 log1p log2 logical_and logical_not
  logical_or logspace lstsq matmul matrix_rank maximum meshgrid minimum mod multiply nan_to_num nanmax nanmean nanmedian nanmin
  nanpercentile nanstd nansum ndindex nonzero norm normal ones ones_like outer percentile permutation piecewise pinv poly1d
  polyfit polyval power ptp qr rad2deg radians rand randn ravel reciprocal repeat reshape roll rot90 row_stack searchsorted
  setdiff1d sign sin sinh solve sqrt square standard_normal standard_t subtract svd swapaxes tan tanh tensordot tile trace
  trapezoid trapz tri tril triu trunc vander vdot vectorize vsplit hsplit zeros zeros_like nanargmax nanargmin binomial poisson
  exponential gamma beta integers load save savez savez_compressed savetxt loadtxt genfromtxt fromfile tofile int64 float64
  int32 float32 datetime64 timedelta64 ttest_ind ttest_rel ttest_1samp mannwhitneyu wilcoxon chi2_contingency f_oneway pearsonr
  spearmanr kendalltau shapiro kstest zscore linregress norm pdf cdf ppf sf rvs minimize curve_fit root fsolve brentq linprog
  quad simpson odeint solve_ivp interp1d pdist cdist squareform linkage fcluster dendrogram find_peaks butter filtfilt
  euclidean cosine entropy iqr describe`;
const ofModels = `fit fit_transform fit_predict fit_resample predict predict_proba predict_log_proba decision_function score
  transform inverse_transform get_params set_params get_feature_names_out cross_val_score cross_val_predict cross_validate
  train_test_split make_pipeline make_column_transformer KFold get_support OLS Logit WLS GLM add_constant summary conf_int
  get_prediction summary_frame load_iris load_digits load_wine load_breast_cancer load_diabetes make_blobs make_classification
  make_regression make_moons confusion_matrix classification_report partial_fit kneighbors silhouette_score plot_tree export_text`;
const ofPictures = `add_artist add_axes add_patch add_subplot add_trace add_hline add_vline annotate arrow autofmt_xdate axhline
  axhspan axis axvline axvspan bar_label boxplot cla clabel clf colorbar contour contourf draw errorbar figure figtext
  fill_between gca gcf get_figure get_legend_handles_labels get_xlim get_xticklabels get_ylim grid gcf hexbin hist2d hlines
  histplot imshow invert_xaxis invert_yaxis kdeplot barplot lineplot scatterplot boxplot violinplot heatmap pairplot countplot
  regplot stripplot swarmplot displot catplot relplot jointplot lmplot clustermap color_palette set_palette set_style set_theme
  despine legend loglog margins minorticks_on pcolormesh plot_date polar set_facecolor set_label set_major_formatter
  set_major_locator set_position set_title set_visible set_xlabel set_xlim set_xscale set_xticklabels set_xticks set_ylabel
  set_ylim set_yscale set_yticklabels set_yticks set_aspect semilogx semilogy show stackplot stem step subplot subplots
  subplots_adjust subplot_mosaic suptitle supxlabel supylabel table text tick_params ticklabel_format tight_layout twinx twiny
  update_layout update_traces update_xaxes update_yaxes violinplot vlines xlabel xlim xscale xticks ylabel ylim yscale yticks
  savefig imsave imread histogram sunburst treemap density_heatmap Figure Bar Scatter Line Pie Histogram Box Heatmap Layout Table
  FuncFormatter PercentFormatter StrMethodFormatter MaxNLocator MultipleLocator DateFormatter MonthLocator DayLocator`;
const ofGraphs = `Graph DiGraph MultiGraph MultiDiGraph add_edge add_edges_from add_node add_nodes_from add_weighted_edges_from
  remove_edge remove_node nodes edges neighbors successors predecessors degree in_degree out_degree has_edge has_node subgraph
  number_of_edges number_of_nodes shortest_path shortest_path_length all_simple_paths connected_components
  strongly_connected_components weakly_connected_components is_connected is_directed_acyclic_graph topological_sort pagerank
  betweenness_centrality degree_centrality closeness_centrality spring_layout draw_networkx dijkstra_path density clustering
  average_clustering descendants ancestors simple_cycles to_undirected read_edgelist read_gml read_graphml write_gml write_graphml`;

const known: ReadonlySet<string> = words(
  [ofValues, ofAsyncio, ofTables, ofNumbers, ofModels, ofPictures, ofGraphs].join(" "),
);
const measures = /^\w+_(?:score|error|report|matrix|distances?|similarity|loss|scaler?)$/;
/** Estimators and their like are classes, by the hundreds. */
const estimator =
  /^[A-Z](?!\w*(?:Writer|File|Store|Source|SQL|Config|Loader|Display))\w*(?:Regression|Regressor|Classifier|Scaler|Encoder|Imputer|Vectorizer|Transformer|Pipeline|Split|Fold|SearchCV|Cluster\w*|Means|Forest|NB|SVC|SVR|PCA|Lasso|Ridge|Net|TSNE|NMF|CV|KBest|DBSCAN|Mixture|Binarizer|Features|Discretizer)$/;

export function isKnown(name: string): boolean {
  return known.has(name) || measures.test(name) || estimator.test(name);
}

/** What does harm in one library or another: a method of one's own by such a name hides which of them is called. */
export const telling: RegExp =
  /^(?:dump\w*|to_(?!dict|list|frame|numpy|records|string|datetime|numeric)\w+|read_\w+|write_\w+|sink_\w+|(?:save|load)(?:[mz]\w*|_\w+|txt)?|fetch\w*|open\w*|query|eval|sql|tofile|connect\w*|create_\w+|serialize|deserialize|export\w*|walk)$/;

/** A text that names what it must not, or that a library takes for a name of its own. */
export const tellingText: RegExp =
  /^(?:to_|read_|tofile|dump|eval|query|exec|text\.usetex|text\.latex|pgf\.)|backend|^animation\.|^webagg|\.path$/;

/** Looks into what Python keeps of what runs. */
export const innards: RegExp = anyOf(
  `[gac][ir]_(?:frame|code|await|yieldfrom|running) f_(?:back|builtins|globals|locals|code|trace) tb_\\w+ co_\\w+ func_\\w+ mro
  get_type_hints get_annotations evaluate_forward_ref ForwardRef singledispatch\\w* make_dataclass get_field vformat Formatter
  LambdaType FrameType`,
);
